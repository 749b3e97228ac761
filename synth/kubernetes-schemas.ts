/**
 * `node synth/kubernetes-schemas.ts`, by hand after a change of the Kubernetes version or of the list of types: starts a
 * real API server and writes what it says of them to `schemas/kubernetes.yaml`.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { startSandbox } from "../sandbox/sandbox.ts"
import { askForTypes, typesFile, typesText } from "./kubernetes-types.ts"
import { root } from "./output.ts"

const sandbox = await startSandbox({ node: "none", server: false, progress: console.error })
try {
  const { gitVersion } = await sandbox.client.get<{ readonly gitVersion: string }>("/version")
  const types = await askForTypes((path) => sandbox.client.get<object>(path))
  writeFileSync(join(root, "schemas", typesFile), typesText(types, gitVersion))
} finally {
  await sandbox.stop()
}
