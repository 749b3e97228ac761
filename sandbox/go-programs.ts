import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** One Go module whose `go.mod` and `go.sum` pin what is built from it. */
export interface GoModule {
  /** Names the module's folder in the cache. */
  readonly name: string
  readonly directory: string
  readonly ldflags: string
  /** Program name to package path. */
  readonly programs: Readonly<Record<string, string>>
}

const here = import.meta.dirname
const small = "-s -w"
const kubernetesVersion = "v1.36.3"

// Unstamped, the API server calls itself v0.0.0 and clients that look at its version refuse to work with it.
const version = "k8s.io/component-base/version"
const stamped = [
  small,
  `-X ${version}.gitVersion=${kubernetesVersion}`,
  `-X ${version}.gitMajor=1`,
  `-X ${version}.gitMinor=36`,
  `-X ${version}.gitTreeState=clean`,
].join(" ")

/** The modules of the control plane; etcd has its own because its dependencies do not agree with those of Kubernetes. */
export const controlPlaneModules: ReadonlyArray<GoModule> = [
  {
    name: "etcd",
    directory: join(here, "control-plane", "etcd"),
    ldflags: small,
    programs: { etcd: "go.etcd.io/etcd/server/v3" },
  },
  {
    name: "kubernetes",
    directory: join(here, "control-plane", "kubernetes"),
    ldflags: stamped,
    programs: Object.fromEntries(
      ["kube-apiserver", "kube-controller-manager", "kubectl", "kube-scheduler", "kubelet", "kube-proxy"].map((name) => [
        name,
        `k8s.io/kubernetes/cmd/${name}`,
      ]),
    ),
  },
]

/** What a control plane without a scheduler needs. */
export const controlPlanePrograms: ReadonlyArray<string> = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]

/** The flags of every build; they are part of the cache key. */
export const buildFlags = (module: GoModule): ReadonlyArray<string> => ["-buildvcs=false", "-trimpath", "-ldflags", module.ldflags]

/** Changes whenever the result of a build would: pins, own sources, flags, platform. */
export const contentHash = (module: GoModule): string => {
  const hash = createHash("sha256")
  for (const file of readdirSync(module.directory).toSorted()) {
    if (/^go\.(mod|sum)$|\.go$/.test(file)) hash.update(file).update(readFileSync(join(module.directory, file)))
  }
  hash.update(JSON.stringify([buildFlags(module), process.platform, process.arch]))
  return hash.digest("hex").slice(0, 16)
}
