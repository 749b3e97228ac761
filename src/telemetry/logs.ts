/** Logs: one JSON object a line on stdout, or lines for people when stdout is a terminal. */
import { Cause, Layer, Logger, type LogLevel, References } from "effect"

/**
 * `time`, `level`, `message`, then annotations and the fields of objects that were logged beside the message. A name that
 * is taken gets an underscore. Causes are text, whole.
 */
export const json = Logger.make<unknown, string>(({ message, logLevel, cause, date, fiber }) => {
  const line: Record<string, unknown> = { time: date.toISOString(), level: logLevel.toLowerCase(), message: "" }
  const put = (name: string, value: unknown): void => {
    if (value !== undefined) line[name in line ? `${name}_` : name] = plain(value)
  }
  const words: Array<string> = []
  for (const part of Array.isArray(message) ? message : [message]) {
    if (isRecord(part)) for (const [name, value] of Object.entries(part)) put(name, value)
    else words.push(text(part))
  }
  line["message"] = words.join(" ")
  for (const [name, value] of Object.entries(fiber.getRef(References.CurrentLogAnnotations))) put(name, value)
  if (cause.reasons.length > 0) put("cause", Cause.pretty(cause))
  return JSON.stringify(line)
})

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !(value instanceof Error) && Object.getPrototypeOf(value) === Object.prototype

const text = (value: unknown): string =>
  value instanceof Error ? value.message : typeof value === "string" ? value : JSON.stringify(plain(value))

/** A value as JSON can hold it; what cannot be written becomes text, for a log line must not be lost. */
const plain = (value: unknown): unknown => {
  if (typeof value === "bigint") return value.toString()
  if (value instanceof Error) return value.message
  try {
    return typeof value === "object" ? JSON.parse(JSON.stringify(value)) : value
  } catch {
    return String(value)
  }
}

/** Writes what is at least as severe as the level. */
export const layer = (level: LogLevel.LogLevel, terminal: boolean = process.stdout.isTTY): Layer.Layer<never> =>
  Layer.merge(
    Logger.layer([terminal ? Logger.consolePretty() : Logger.withConsoleLog(json)]),
    Layer.succeed(References.MinimumLogLevel, level),
  )

const levels: { readonly [name: string]: LogLevel.LogLevel } = {
  off: "None",
  none: "None",
  fatal: "Fatal",
  error: "Error",
  warn: "Warn",
  warning: "Warn",
  info: "Info",
  debug: "Debug",
  trace: "Trace",
}

/**
 * The first level of a filter that holds for everything: `info`, `DEBUG`, `info,some::module=debug`. Levels of single
 * modules mean nothing here. `undefined` when there is none.
 */
export const levelOf = (filter: string): LogLevel.LogLevel | undefined =>
  filter
    .split(",")
    .map((directive) => levels[directive.trim().toLowerCase()])
    .find((level) => level !== undefined)
