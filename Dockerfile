# ln-audit in a container: docker build -t ln-audit . && docker run --rm -v "$PWD:/work:ro" ln-audit verify path/to/folder
FROM python:3.12.8-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY ln_audit ./ln_audit
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12.8-slim-bookworm
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir /wheels/*.whl \
    && rm -r /wheels \
    && useradd --create-home --uid 10001 auditor
USER auditor
WORKDIR /work
ENTRYPOINT ["ln-audit"]
CMD ["--help"]
