/** SHA-256: a pure function, although Node's implementation is imported. */
import { createHash } from "node:crypto"

export const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
