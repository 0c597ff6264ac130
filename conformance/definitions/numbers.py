"""Numbers: exact fractions as long as possible, fifty decimal digits from then on."""

from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction

__all__ = [
    "Number",
    "decimal",
    "difference",
    "exp",
    "exp2",
    "fraction",
    "largest",
    "ln",
    "log2",
    "mean",
    "product",
    "ratio",
    "root",
    "size",
    "smallest",
    "total",
    "written",
]

Number = Fraction | Decimal
DIGITS = Context(prec=50, rounding=ROUND_HALF_EVEN)
#: What rounding may leave of a sum that is 0.
NOTHING = Decimal("1e-40")


def fraction(value: object) -> Fraction:
    """Read a number of the input exactly."""
    return Fraction(value)  # type: ignore[arg-type]


def decimal(value: Number) -> Decimal:
    """Return a number as a decimal."""
    if isinstance(value, Decimal):
        return value
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _apply(
    a: Number, b: Number, exact: Callable[..., Fraction], rounded: Callable[..., Decimal]
) -> Number:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return exact(a, b)
    return rounded(decimal(a), decimal(b))


def total(values: Iterable[Number]) -> Number:
    """Add up."""
    result: Number = Fraction(0)
    for value in values:
        result = _apply(result, value, Fraction.__add__, DIGITS.add)
    if isinstance(result, Decimal) and abs(result) < NOTHING:
        return Fraction(0)
    return result


def difference(a: Number, b: Number) -> Number:
    """Return a - b."""
    return total([a, product([Fraction(-1), b])])


def product(values: Iterable[Number]) -> Number:
    """Multiply; anything times an exact 0 is 0."""
    result: Number = Fraction(1)
    for value in values:
        if value == 0:
            return Fraction(0)
        result = _apply(result, value, Fraction.__mul__, DIGITS.multiply)
    return result


def ratio(a: Number, b: Number) -> Number:
    """Return a / b."""
    return Fraction(0) if a == 0 else _apply(a, b, Fraction.__truediv__, DIGITS.divide)


def mean(values: Iterable[Number]) -> Number:
    """Return the mean of at least one value."""
    known = list(values)
    return ratio(total(known), Fraction(len(known)))


def size(value: Number) -> Number:
    """Return the absolute value."""
    return -value if value < 0 else value


def largest(values: Iterable[Number]) -> Number:
    """Return the largest."""
    return max(values, key=decimal)


def smallest(values: Iterable[Number]) -> Number:
    """Return the smallest."""
    return min(values, key=decimal)


def ln(value: Number) -> Number:
    """Return the natural logarithm."""
    if value == 1:
        return Fraction(0)
    return DIGITS.ln(decimal(value))


def log2(value: Number) -> Number:
    """Return the logarithm to base 2, exact for powers of 2."""
    if isinstance(value, Fraction):
        up, down = value.numerator, value.denominator
        if up & (up - 1) == 0 and down & (down - 1) == 0:
            return Fraction(up.bit_length() - down.bit_length())
    return DIGITS.divide(DIGITS.ln(decimal(value)), DIGITS.ln(Decimal(2)))


def exp(value: Number) -> Number:
    """Return e to a power."""
    return Fraction(1) if value == 0 else DIGITS.exp(decimal(value))


def exp2(value: Fraction) -> Number:
    """Return 2 to a power, exact for whole ones."""
    if value.denominator == 1:
        return Fraction(2) ** value.numerator
    return DIGITS.power(Decimal(2), decimal(value))


def root(value: Number) -> Number:
    """Return the square root, exact for the square of a fraction."""
    if isinstance(value, Fraction):
        with localcontext(DIGITS):
            up = int(Decimal(value.numerator).sqrt())
            down = int(Decimal(value.denominator).sqrt())
        if up * up == value.numerator and down * down == value.denominator:
            return Fraction(up, down)
    return DIGITS.sqrt(decimal(value))


def written(value: Number | None) -> str | None:
    """Write a value: ``a/b`` where it is exact, 17 digits where not, None where undefined."""
    if value is None:
        return None
    if isinstance(value, Fraction):
        if value.denominator < 10**24:
            return f"{value.numerator}/{value.denominator}"
        value = decimal(value)
    return f"{value:.16e}" if value else "0/1"
