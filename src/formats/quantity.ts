/** Kubernetes quantities (`1000m`, `1.5Gi`, `2e3`) as numbers of billionths, the finest the API server keeps. */

const binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
/** Power of ten of each decimal suffix, in billionths. */
const decimal: { readonly [suffix: string]: number } = { n: 0, u: 3, m: 6, "": 9, k: 12, M: 15, G: 18, T: 21, P: 24, E: 27 }

const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)$/

/** Billionths, rounded up as the API server does; undefined when the text is no quantity. */
export const quantity = (text: string): bigint | undefined => {
  const match = form.exec(text)
  if (match === null) return undefined
  const [, sign = "", whole = "", fraction = "", exponent, suffix = ""] = match
  if (whole === "" && fraction === "") return undefined
  const digits = BigInt(whole + fraction)
  const factor = binary.includes(suffix) ? 1024n ** BigInt(binary.indexOf(suffix) + 1) : 1n
  const power = (binary.includes(suffix) ? 9 : (decimal[suffix] ?? 9)) + Number(exponent ?? 0) - fraction.length
  const scaled = power >= 0 ? digits * factor * 10n ** BigInt(power) : roundedUp(digits * factor, 10n ** BigInt(-power))
  return sign === "-" ? -scaled : scaled
}

const roundedUp = (value: bigint, divisor: bigint): bigint => (value + divisor - 1n) / divisor

/** Quantities stand where resources are counted. Elsewhere `1` and `1000m` are two different texts. */
export const isQuantity = (path: ReadonlyArray<string>): boolean => {
  const [name, parent, grand] = [path.at(-1), path.at(-2), path.at(-3)]
  if (parent === "requests" || parent === "limits") return grand === "resources" || grand === "overhead"
  if (name === "averageValue" || name === "value") return parent === "target"
  return name === "sizeLimit" || (name === "divisor" && parent === "resourceFieldRef")
}
