/**
 * Division without remainder, of the decimal numbers that JSON has written rather than of their binary neighbours: 0.3 is a
 * multiple of 0.1.
 */

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

export const isMultipleOf = (divisor: number): (value: number) => boolean => {
  const isWhole = Number.isSafeInteger(divisor)
  const by = decimal(divisor)
  return (value) => isWhole && Number.isSafeInteger(value) ? value % divisor === 0 : divides(by, decimal(value))
}

const divides = (divisor: Decimal, value: Decimal): boolean => {
  const exponent = Math.min(divisor.exponent, value.exponent)
  return scaled(value, exponent) % scaled(divisor, exponent) === 0n
}

const scaled = ({ digits, exponent }: Decimal, to: number): bigint => digits * 10n ** BigInt(exponent - to)

/** From the shortest text of a number, such as `4.35e-2`. */
const decimal = (value: number): Decimal => {
  const [mantissa, exponent] = value.toExponential().split("e")
  const [whole, fraction = ""] = mantissa!.split(".")
  return { digits: BigInt(whole! + fraction), exponent: Number(exponent) - fraction.length }
}
