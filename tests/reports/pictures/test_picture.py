"""Numbers of measured things as pictures tell them."""

from ln_audit.reports.pictures.picture import Picture, figure


def test_a_number_has_four_digits_and_none_is_a_dash():
    assert [figure(each) for each in (0.123456, 12_345.6, -1e-9, 0.0, None)] == [
        "0.1235",
        "1.235e+04",
        "-1e-09",
        "0",
        "–",
    ]


def test_a_picture_may_have_no_numbers_behind_it():
    assert (Picture("<svg/>", "c", "t").columns, Picture("<svg/>", "c", "t").rows) == ((), ())
