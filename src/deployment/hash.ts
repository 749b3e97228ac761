/** The name of a version: a hash over what makes two templates the same code (operator.md §3.1, golden vectors in test/deployment/hash.test.ts). */

/** Everything that goes into the hash, in this order. */
export interface HashInput {
  /** Canonical template JSON, see {@link templateJson}. */
  readonly template: string
  readonly cluster?: string | undefined
  readonly servicePath?: string | undefined
  readonly useHttp11?: boolean | undefined
  readonly inProcess?: { readonly environmentId: string; readonly region: string; readonly signingPublicKey: string } | undefined
  readonly collisionCount?: number | undefined
}

/** Digits of the version suffix: no vowels, so that no word appears by accident, and none of 0 1 2 3. */
const digits = "456789bcdf"

/** FNV-1a 64, upper half, decimal digits from least significant to most. */
export const versionHash = (input: HashInput): string => {
  const sum = fnv1a(parts(input))
  let upper = sum >> 32n
  // Upstream gives the empty string for 0, which is no name.
  if (upper === 0n) return digits.charAt(0)
  let hash = ""
  for (; upper > 0n; upper /= 10n) hash += digits.charAt(Number(upper % 10n))
  return hash
}

/** Compact JSON with `metadata` before `spec`, `annotations` before `labels`, and every other object's keys sorted by UTF-8 bytes. */
export const templateJson = (template: { readonly metadata?: unknown; readonly spec?: unknown }): string =>
  `{"metadata":${metadataJson(template.metadata)},"spec":${canonical(template.spec ?? null)}}`

const metadataJson = (metadata: unknown): string => {
  if (!isRecord(metadata)) return "null"
  const field = (name: string) => (isRecord(metadata[name]) ? [`"${name}":${canonical(metadata[name])}`] : [])
  return `{${[...field("annotations"), ...field("labels")].join(",")}}`
}

const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  // Integers beyond 2^53 arrive as raw JSON, which JSON.stringify prints as it was written.
  if (!isRecord(value) || isRawJson(value)) return JSON.stringify(value) ?? "null"
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  entries.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(",")}}`
}

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** `JSON.rawJSON` makes frozen objects without prototype; a plain object from the wire always has one. */
const isRawJson = (value: object): boolean => Object.getPrototypeOf(value) === null && "rawJSON" in value

const parts = (input: HashInput): Buffer =>
  Buffer.concat([
    Buffer.from(input.template),
    Buffer.from(input.cluster ?? ""),
    Buffer.from(input.servicePath ?? ""),
    Buffer.from(input.useHttp11 === true ? "use_http11" : ""),
    ...(input.inProcess === undefined ? [] : inProcessParts(input.inProcess)),
    ...(input.collisionCount === undefined ? [] : [int32(input.collisionCount)]),
  ])

const inProcessParts = ({ environmentId, region, signingPublicKey }: NonNullable<HashInput["inProcess"]>): ReadonlyArray<Buffer> => [
  Buffer.from("tunnel_mode=in-process"),
  ...[environmentId, region, signingPublicKey].flatMap((text) => {
    const bytes = Buffer.from(text)
    const length = Buffer.alloc(8)
    length.writeBigUInt64BE(BigInt(bytes.length))
    return [length, bytes]
  }),
]

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value | 0)
  return bytes
}

const fnv1a = (bytes: Buffer): bigint => {
  let sum = 0xcbf29ce484222325n
  for (const byte of bytes) sum = BigInt.asUintN(64, (sum ^ BigInt(byte)) * 0x100000001b3n)
  return sum
}
