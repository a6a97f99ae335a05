#!/usr/bin/env bash
# The steps of action.yml: prepare, install, verify. Everything a workflow says comes in through LN_ACTION_… variables.
set -euo pipefail

# The lines of a text that are not empty, without the spaces around them, into the array LINES.
lines() {
  LINES=()
  local line
  while IFS= read -r line || [[ -n $line ]]; do
    line=${line//$'\r'/}
    line=${line#"${line%%[![:space:]]*}"}
    line=${line%"${line##*[![:space:]]}"}
    if [[ -n $line ]]; then LINES+=("$line"); fi
  done <<<"$1"
}

# One output of the step, on one line.
output() {
  printf '%s=%s\n' "$1" "${2//$'\n'/ }" >>"$GITHUB_OUTPUT"
}

refuse() {
  local told=${1//'%'/%25}
  told=${told//$'\r'/%0D}
  printf '::error title=ln-audit::%s\n' "${told//$'\n'/%0A}"
  exit 2
}

# What is installed: this action's own code, or one version from the package index.
requirement() {
  local version=${LN_ACTION_VERSION:-} extras=${LN_ACTION_EXTRAS:-}
  extras=${extras// /}
  [[ $version =~ ^[0-9A-Za-z.+!-]*$ ]] || refuse "version: expected a version such as 0.1.0, found $version"
  [[ $extras =~ ^[a-z,]*$ ]] || refuse "extras: expected names separated by commas, found $extras"
  local wanted=${extras:+"[$extras]"}
  if [[ -n $version ]]; then printf 'ln-audit%s==%s' "$wanted" "$version"; else printf '%s%s' "$GITHUB_ACTION_PATH" "$wanted"; fi
}

prepare() {
  local wanted code targets key
  wanted=$(requirement) || { printf '%s\n' "$wanted"; exit 2; }
  code=$(digest "$(<"$GITHUB_ACTION_PATH/pyproject.toml") $wanted")
  targets=$(digest "${LN_ACTION_TARGET:-} ${LN_ACTION_AGAINST:-}")
  key=ln-audit-${RUNNER_OS:-unknown}-${LN_ACTION_PYTHON_VERSION:-}-$code
  output folder "$(mktemp -d "$RUNNER_TEMP/ln-audit.XXXXXX")"
  output cache "$RUNNER_TEMP/ln-audit-cache"  # the same path each time: a cache is restored to where it was saved from
  output key "$key-$targets"
  output restore-key "$key-"
}

# A short number of a text.
digest() {
  cksum <<<"$1" | cut -d' ' -f1
}

install() {
  local wanted
  wanted=$(requirement) || { printf '%s\n' "$wanted"; exit 2; }
  "${LN_ACTION_PYTHON:-python3}" -m venv "$LN_ACTION_FOLDER/venv"
  PIP_CACHE_DIR="$LN_ACTION_CACHE/pip" "$(program python)" -m pip install --quiet --disable-pip-version-check "$wanted"
  "$(program ln-audit)" --version
}

# A program of the environment, which lies elsewhere on Windows.
program() {
  local folder=$LN_ACTION_FOLDER/venv/bin
  if [[ ! -d $folder ]]; then folder=$LN_ACTION_FOLDER/venv/Scripts; fi
  printf '%s/%s' "$folder" "$1"
}

verify() {
  local options=() code=0 sarif=$LN_ACTION_FOLDER/report.sarif each
  lines "${LN_ACTION_ARGS:-}"; options+=(${LINES[@]+"${LINES[@]}"})
  if [[ -n ${LN_ACTION_AGAINST:-} ]]; then options+=("--against=$LN_ACTION_AGAINST"); fi
  if [[ -n ${LN_ACTION_LOCK:-} ]]; then options+=("--lock=$LN_ACTION_LOCK"); fi
  if [[ -n ${LN_ACTION_POLICY:-} ]]; then options+=("--policy=$LN_ACTION_POLICY"); fi
  lines "${LN_ACTION_RECORDING:-}"; for each in ${LINES[@]+"${LINES[@]}"}; do options+=("--recording=$each"); done
  lines "${LN_ACTION_REQUIRE:-}"; for each in ${LINES[@]+"${LINES[@]}"}; do options+=("--require=$each"); done
  case ${LN_ACTION_STRICT:-false} in
    true) options+=(--strict) ;;
    false | "") ;;
    *) refuse "strict: expected true or false, found $LN_ACTION_STRICT" ;;
  esac
  lines "${LN_ACTION_TARGET:-}"
  options+=(--format=github "--output=sarif=$sarif")  # annotations and the step's summary; and the findings as a file
  if [[ -z ${HF_HUB_CACHE:-}${HF_HOME:-} ]]; then export HF_HUB_CACHE=$LN_ACTION_CACHE/hub; fi
  rm -f "$sarif"
  "$(program ln-audit)" verify "${options[@]}" -- ${LINES[@]+"${LINES[@]}"} || code=$?
  if [[ $code == 0 && ! -s $sarif ]]; then  # --help among the words
    output verdict error; output exit-code 2; output sarif-file ""
    refuse "args: expected options of verify, found one with which nothing is verified"
  fi
  case $code in
    0) output verdict pass ;;
    1) output verdict fail ;;
    3) output verdict incomplete ;;
    *) output verdict error ;;
  esac
  output exit-code "$code"
  if [[ -s $sarif ]]; then output sarif-file "$sarif"; else output sarif-file ""; fi
  exit "$code"
}

case ${1:-} in
  prepare | install | verify) "$1" ;;
  *) refuse "action.sh: expected prepare, install or verify, found ${1:-nothing}" ;;
esac
