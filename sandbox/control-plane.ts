import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { ensure } from "./binaries.ts"
import { createAuthority, createClient, createKeyPair, createServer, writeIdentity, type Identity, type Subject } from "./certificates.ts"
import { controlPlanePrograms } from "./go-programs.ts"
import { writeKubeconfig } from "./kubeconfig.ts"
import { KubernetesClient } from "./kubernetes-client.ts"
import { freePorts } from "./ports.ts"
import type { Processes } from "./processes.ts"
import { silent, type Progress } from "./progress.ts"
import { waitFor } from "./wait.ts"

/** What a control plane is made for. The defaults suit the stand-in node; a real node needs other addresses. */
export interface ControlPlaneOptions {
  /** Holds data, keys and kubeconfigs. */
  readonly directory: string
  readonly processes: Processes
  /** Where the API server listens; `0.0.0.0` when pods must reach it too. */
  readonly bindAddress?: string
  /** Stands in the `kubernetes` Service's endpoints. Loopback is refused; without a node it is data that nobody dials. */
  readonly advertiseAddress?: string
  readonly serviceCidr?: string
  /** Further names and addresses of the API server's certificate. */
  readonly extraHosts?: ReadonlyArray<string>
  readonly apiPort?: number
  /** A scheduler, for a real node. The stand-in node binds its pods itself. */
  readonly scheduler?: boolean
  /** Further flags of the API server. */
  readonly apiServerFlags?: ReadonlyArray<string>
  /** Controllers of the controller manager to leave out, because somebody else plays them. */
  readonly withoutControllers?: ReadonlyArray<string>
  readonly progress?: Progress
}

/** A running etcd, API server and controller manager. */
export interface ControlPlane {
  /** The API server as the host reaches it. */
  readonly server: string
  readonly port: number
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string
  readonly client: KubernetesClient
  /** Signs further certificates that the API server trusts. */
  readonly authority: Identity
  readonly authorityFile: string
  /** The folder of the programs, `kubectl` among them. */
  readonly binaries: string
  /** Writes `<directory>/conf/<name>.kubeconfig` for a client certificate of this subject and returns its path. */
  kubeconfigFor(name: string, subject: Subject): string
  /** Kills the API server and starts it again on the same port and etcd; some 3 s during which nobody answers. */
  restartApiServer(): Promise<void>
  stop(): Promise<void>
}

const issuer = "https://kubernetes.default.svc.cluster.local"

/** Starts a control plane; needs no root, and several may run side by side. */
export const startControlPlane = async (options: ControlPlaneOptions): Promise<ControlPlane> => {
  const { directory, processes } = options
  const progress = options.progress ?? silent
  const bindAddress = options.bindAddress ?? "127.0.0.1"
  const serviceCidr = options.serviceCidr ?? "10.96.0.0/16"
  const advertiseAddress = options.advertiseAddress ?? "10.244.0.1"
  const scheduler = options.scheduler ?? false
  const binaries = await ensure([...controlPlanePrograms, ...(scheduler ? ["kube-scheduler"] : [])], progress)
  const begun = Date.now()

  const [etcdPort, peerPort, freeApiPort] = await freePorts(3)
  const apiPort = options.apiPort ?? freeApiPort
  if (etcdPort === undefined || peerPort === undefined || apiPort === undefined) throw new Error("no free ports")
  const server = `https://127.0.0.1:${apiPort}`

  const pki = join(directory, "pki")
  const conf = join(directory, "conf")
  const data = join(directory, "data", "etcd")
  // Old data would hold tokens and ConfigMaps signed by keys that are replaced below.
  rmSync(data, { recursive: true, force: true })
  for (const folder of [pki, conf, data]) mkdirSync(folder, { recursive: true, mode: 0o700 })

  const etcdUrl = `http://127.0.0.1:${etcdPort}`
  const peerUrl = `http://127.0.0.1:${peerPort}`
  await processes.start("etcd", join(binaries, "etcd"), [
    "--name=sandbox",
    `--data-dir=${data}`,
    "--log-level=warn",
    // The data is thrown away anyway; waiting for the disk at each write is most of what etcd costs.
    "--unsafe-no-fsync",
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=sandbox=${peerUrl}`,
    "--quota-backend-bytes=4294967296",
  ])

  const authority = createAuthority("sandbox-ca")
  const authorityFile = writeIdentity(pki, "ca", authority)
  const apiServer = writeIdentity(
    pki,
    "apiserver",
    createServer(authority, { commonName: "kube-apiserver" }, [
      "127.0.0.1",
      advertiseAddress,
      firstAddress(serviceCidr),
      "localhost",
      "kubernetes",
      "kubernetes.default",
      "kubernetes.default.svc",
      "kubernetes.default.svc.cluster.local",
      ...(options.extraHosts ?? []),
    ]),
  )
  const toKubelets = writeIdentity(
    pki,
    "apiserver-kubelet-client",
    createClient(authority, { commonName: "kube-apiserver-kubelet-client", organization: "system:masters" }),
  )
  const tokens = createKeyPair()
  const tokenKey = join(pki, "service-accounts.key")
  const tokenPublicKey = join(pki, "service-accounts.pub")
  writeFileSync(tokenKey, tokens.privatePem, { mode: 0o600 })
  writeFileSync(tokenPublicKey, tokens.publicPem)

  const kubeconfigFor = (name: string, subject: Subject): string =>
    writeKubeconfig(join(conf, `${name}.kubeconfig`), server, authority.certificatePem, name, {
      identity: createClient(authority, subject),
    })
  const kubeconfig = writeKubeconfig(join(directory, "kubeconfig"), server, authority.certificatePem, "admin", {
    identity: createClient(authority, { commonName: "admin", organization: "system:masters" }),
  })
  const mustRun = (name: string) => ({
    hopeless: () => (processes.alive(name) ? undefined : `${name} has ended, see ${processes.logFile(name)}`),
  })

  await waitFor("etcd", async () => (await fetch(`${etcdUrl}/health`)).ok, mustRun("etcd"))
  const startApiServer = () =>
    processes.start("kube-apiserver", join(binaries, "kube-apiserver"), [
      `--etcd-servers=${etcdUrl}`,
      `--bind-address=${bindAddress}`,
      `--secure-port=${apiPort}`,
      `--advertise-address=${advertiseAddress}`,
      `--service-cluster-ip-range=${serviceCidr}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--allow-privileged=true",
      "--profiling=false",
      `--client-ca-file=${authorityFile.certificate}`,
      `--tls-cert-file=${apiServer.certificate}`,
      `--tls-private-key-file=${apiServer.key}`,
      `--kubelet-client-certificate=${toKubelets.certificate}`,
      `--kubelet-client-key=${toKubelets.key}`,
      `--kubelet-certificate-authority=${authorityFile.certificate}`,
      "--kubelet-preferred-address-types=InternalIP",
      `--service-account-issuer=${issuer}`,
      `--service-account-key-file=${tokenPublicKey}`,
      `--service-account-signing-key-file=${tokenKey}`,
      ...(options.apiServerFlags ?? []),
    ])
  await startApiServer()
  const client = await KubernetesClient.fromKubeconfig(kubeconfig)
  const ready = { ...mustRun("kube-apiserver"), timeoutMs: 120_000 }
  // The list of checks is no JSON; the request itself fails until the server answers 200.
  const answers = () => waitFor("the API server", async () => (await client.get<{ major: string }>("/version")).major !== "", ready)
  await answers()
  await waitFor("the API server's own objects", () => client.get("/api/v1/namespaces/kube-system"), ready)

  const manager = kubeconfigFor("controller-manager", { commonName: "system:kube-controller-manager" })
  await processes.start("kube-controller-manager", join(binaries, "kube-controller-manager"), [
    ...clientFlags(manager),
    `--controllers=${["*", ...(options.withoutControllers ?? []).map((name) => `-${name}`)].join(",")}`,
    "--use-service-account-credentials=true",
    `--service-account-private-key-file=${tokenKey}`,
    `--root-ca-file=${authorityFile.certificate}`,
    `--cluster-signing-cert-file=${authorityFile.certificate}`,
    `--cluster-signing-key-file=${authorityFile.key}`,
    `--service-cluster-ip-range=${serviceCidr}`,
    "--concurrent-namespace-syncs=20",
    "--node-monitor-period=2s",
    "--node-monitor-grace-period=40s",
  ])
  if (scheduler) {
    const user = kubeconfigFor("scheduler", { commonName: "system:kube-scheduler" })
    await processes.start("kube-scheduler", join(binaries, "kube-scheduler"), clientFlags(user))
  }
  // Pods are refused until their namespace has this account, and it is the controller manager that makes it.
  await waitFor("the default ServiceAccount", () => client.get("/api/v1/namespaces/default/serviceaccounts/default"), {
    ...mustRun("kube-controller-manager"),
    timeoutMs: 60_000,
  })
  progress(`control plane up in ${((Date.now() - begun) / 1000).toFixed(1)} s at ${server}`)

  return {
    server,
    port: apiPort,
    kubeconfig,
    client,
    authority,
    authorityFile: authorityFile.certificate,
    binaries,
    kubeconfigFor,
    restartApiServer: async () => {
      processes.signal("kube-apiserver", "SIGKILL")
      await processes.stop("kube-apiserver")
      await startApiServer()
      await answers()
    },
    stop: async () => {
      client.close()
      await Promise.all(["kube-scheduler", "kube-controller-manager"].map((name) => processes.stop(name, 5_000)))
      // An API server waits for its watches for a minute; nobody needs them any more.
      await processes.stop("kube-apiserver", 1_000)
      await processes.stop("etcd", 1_000)
    },
  }
}

// No leader election: there is only one. Port 0: no port of their own, so several control planes fit on one machine.
const clientFlags = (kubeconfig: string): ReadonlyArray<string> => [
  `--kubeconfig=${kubeconfig}`,
  `--authentication-kubeconfig=${kubeconfig}`,
  `--authorization-kubeconfig=${kubeconfig}`,
  "--secure-port=0",
  "--leader-elect=false",
  "--kube-api-qps=200",
  "--kube-api-burst=400",
]

const firstAddress = (cidr: string): string => cidr.replace(/\.\d+\/\d+$/, ".1")
