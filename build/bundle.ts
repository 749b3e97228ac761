/**
 * Makes dist/operator.mjs: the whole operator in one file that Node runs without node_modules.
 *
 * What it takes at rest, with 100 objects on Node 24: 132 MiB as it is; 97 MiB with `--max-semi-space-size=1` (V8 grows
 * its nursery to 16 MiB and keeps it) and with `NODE_COMPILE_CACHE` set to a folder that an earlier start has filled
 * (parsing 2 MB leaves some 18 MiB behind). An image should set both.
 */
import { build, type BuildOptions, type Plugin } from "esbuild"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

/** The oldest Node that the client library and effect run on; an older one prints a sentence instead of a stack trace. */
const oldest = 22
const guard = `if (Number(process.versions.node.split(".")[0]) < ${oldest}) {
  console.error("This needs Node.js ${oldest} or newer, and this is " + process.version + ".");
  process.exit(1);
}`

/** Writes the bundle and says what it is made of: kilobytes of each package, largest first. */
export const bundle = async (
  outfile: string,
  plugins: Array<Plugin> = [],
): Promise<ReadonlyArray<readonly [name: string, kilobytes: number]>> => {
  const { metafile } = await build({ ...options, outfile, plugins })
  const shares = new Map<string, number>()
  for (const [path, { bytesInOutput }] of Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs))) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules\/)/.exec(path)?.[1] ?? "service-operator"
    shares.set(name, (shares.get(name) ?? 0) + bytesInOutput / 1024)
  }
  return [...shares].toSorted((a, b) => b[1] - a[1])
}

const options = {
  absWorkingDir: root,
  entryPoints: ["src/main.ts"],
  bundle: true,
  platform: "node",
  format: "esm",
  target: `node${oldest}`,
  mainFields: ["module", "main"],
  // Of the client library only the kubeconfig is used; its index pulls in 4 MB of generated requests.
  alias: { "@kubernetes/client-node": "@kubernetes/client-node/dist/config.js", undici: "./build/no-undici.ts" },
  // Names stay, so that stack traces and error tags in logs can be read.
  minifySyntax: true,
  minifyWhitespace: true,
  minifyIdentifiers: false,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  // CommonJS packages inside an ES module ask for a require.
  banner: {
    js: `import { createRequire as __createRequire } from "node:module";\n${guard}\nconst require = __createRequire(import.meta.url);`,
  },
} as const satisfies BuildOptions

if (import.meta.main) {
  const outfile = "dist/operator.mjs"
  const shares = await bundle(outfile)
  console.log(`${outfile}: ${Math.round(shares.reduce((sum, [, kilobytes]) => sum + kilobytes, 0))} KiB`)
  for (const [name, kilobytes] of shares.slice(0, 12)) console.log(`  ${name}: ${Math.round(kilobytes)}`)
}
