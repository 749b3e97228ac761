/**
 * The little of ASN.1's distinguished encoding that a certificate needs. `openssl` is missing on many machines, and
 * the libraries for certificates bring twenty packages for what is a hundred lines.
 */

const tagged = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), length(body.length), body])
}

const length = (value: number): Buffer => {
  if (value < 0x80) return Buffer.from([value])
  const bytes: number[] = []
  for (let rest = value; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

const base128 = (value: number): ReadonlyArray<number> => {
  const bytes = [value & 0x7f]
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | 0x80)
  return bytes
}

/** Constructors, each named after its ASN.1 type. */
export const der = {
  sequence: (...parts: ReadonlyArray<Uint8Array>) => tagged(0x30, ...parts),
  set: (...parts: ReadonlyArray<Uint8Array>) => tagged(0x31, ...parts),
  boolean: (value: boolean) => tagged(0x01, Buffer.from([value ? 0xff : 0])),
  /** From the big-endian bytes of a number that is not negative. */
  integer: (bytes: Uint8Array) => {
    // A leading bit would read as a sign, a leading zero byte is not canonical.
    const first = bytes.findIndex((byte) => byte !== 0)
    const significant = first < 0 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first))
    return tagged(0x02, (significant[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), significant]) : significant)
  },
  bitString: (bytes: Uint8Array, unusedBits = 0) => tagged(0x03, Buffer.from([unusedBits]), bytes),
  octetString: (bytes: Uint8Array) => tagged(0x04, bytes),
  utf8String: (text: string) => tagged(0x0c, Buffer.from(text, "utf8")),
  /** UTC, to the second. */
  utcTime: (at: Date) => tagged(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replace(/[-:T]/g, "")}Z`)),
  objectIdentifier: (dotted: string) => {
    const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number)
    return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
  },
  /** `[number]` around whole elements. */
  explicit: (number: number, ...parts: ReadonlyArray<Uint8Array>) => tagged(0xa0 | number, ...parts),
  /** `[number]` in the place of a primitive element's own tag. */
  implicit: (number: number, bytes: Uint8Array) => tagged(0x80 | number, bytes),
}
