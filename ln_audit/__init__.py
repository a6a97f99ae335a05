"""ln-audit: proves that the normalization layers of a model checkpoint are what they should be.

    import ln_audit

    run = ln_audit.verify("path/to/folder", recording="run.safetensors")
    if run.verdict != "pass":
        print(ln_audit.render(run))

What `__all__` names, and the modules `testing`, `saving` and `trainer`, is the public surface; everything else may change with
any version. While the version is 0.x, a change of the surface that breaks callers comes with a new minor version and a line in the
changelog, never with a patch. Everything is imported when it is asked for: `import ln_audit` alone costs nothing.
"""

TYPE_CHECKING = (
    False  # a type checker takes it for true; importing typing would cost more than all the rest of this file
)
if TYPE_CHECKING:
    from typing import Any

    from ln_audit.comparison import Comparison
    from ln_audit.core import Norm
    from ln_audit.errors import AuditError, LnAuditError, UsageError
    from ln_audit.formulas import layer_norm, rms_norm
    from ln_audit.library import compare_recording, load_norms, render, report, verify
    from ln_audit.numerics.parameters import NormParameters
    from ln_audit.numerics.reference import Normed
    from ln_audit.record.capture import capture
    from ln_audit.reports.document import Run
    from ln_audit.result import Finding, NormReport, Report, TensorReport, Verdict
    from ln_audit.testing import assert_norm, compare_arrays

__version__ = "0.1.0"
__all__ = [
    "AuditError",
    "Comparison",
    "Finding",
    "LnAuditError",
    "Norm",
    "NormParameters",
    "NormReport",
    "Normed",
    "Report",
    "Run",
    "TensorReport",
    "UsageError",
    "Verdict",
    "__version__",
    "assert_norm",
    "capture",
    "compare_arrays",
    "compare_recording",
    "layer_norm",
    "load_norms",
    "render",
    "report",
    "rms_norm",
    "verify",
]
_HOMES = {
    "comparison": ("Comparison",),
    "core": ("Norm",),
    "errors": ("AuditError", "LnAuditError", "UsageError"),
    "formulas": ("layer_norm", "rms_norm"),
    "library": ("compare_recording", "load_norms", "render", "report", "verify"),
    "numerics.parameters": ("NormParameters",),
    "numerics.reference": ("Normed",),
    "record.capture": ("capture",),
    "result": ("Finding", "NormReport", "Report", "TensorReport", "Verdict"),
    "reports.document": ("Run",),
    "testing": ("assert_norm", "compare_arrays"),
}


def __getattr__(name: str) -> "Any":
    """A public name, imported from where it lives. Raises `AttributeError` for every other."""
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'ln_audit' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"ln_audit.{home}"), name)


def __dir__() -> list[str]:
    """The public surface."""
    return sorted(__all__)
