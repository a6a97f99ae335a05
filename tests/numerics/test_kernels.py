import os
import subprocess
import sys

from ln_audit.numerics import fast_numba, fast_numpy
from ln_audit.numerics.kernels import KERNELS, chosen


def test_the_fastest_that_is_installed_and_pays_is_chosen():
    assert chosen(0) is None
    assert chosen(fast_numpy.PAYS_FROM - 1) is None
    assert chosen(fast_numpy.PAYS_FROM) is fast_numpy
    assert chosen(fast_numba.PAYS_FROM) is (fast_numba if fast_numba.available() else fast_numpy)


def test_they_stand_in_the_order_in_which_they_are_preferred():
    assert [each.NAME for each in KERNELS] == ["numba", "numpy"]
    assert [each.PAYS_FROM for each in KERNELS] == sorted((each.PAYS_FROM for each in KERNELS), reverse=True)


def test_a_numba_that_cannot_be_imported_is_not_chosen(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('numba needs NumPy 2.3 or less')")
    code = "from ln_audit.numerics.kernels import chosen; print(chosen(2**40).NAME)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "numpy\n"


def test_numba_is_imported_only_where_it_may_pay():
    code = "import sys; from ln_audit.numerics.kernels import chosen; chosen(2**29); print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
