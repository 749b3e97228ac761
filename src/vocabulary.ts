/**
 * Every name the operator writes into a cluster, in two editions. One algorithm, two spellings: `service` is the
 * default, `restate` is the exact set of names of the operator it takes over from, so that live resources keep working.
 *
 * Names that are equal in both editions (Kubernetes' own labels, condition types, the server's wire names) do not
 * belong here: they stand where they are used.
 */

export type Edition = "service" | "restate"

/** How one of our own resources is called on the wire. */
export interface ResourceNames {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortName: string
  /** The entry this operator adds to `metadata.finalizers`. */
  readonly finalizer: string
}

/** The roles of our own resources; what they are called differs by edition. */
export type OwnKind = "cluster" | "deployment" | "environment"

export interface Vocabulary {
  readonly edition: Edition
  readonly group: string
  readonly resources: { readonly [K in OwnKind]: ResourceNames }
  /** Operator name: container, Lease, ServiceAccount, event reporter, value of the managed-by label. */
  readonly operator: string
  readonly managers: Managers
  readonly labels: {
    /** Name of the ServiceDeployment that a version's ReplicaSet, Service or autoscaler belongs to. */
    readonly ownedBy: string
    /** "This cluster may call these pods"; value `"true"`. */
    readonly allow: (cluster: string) => string
  }
  readonly annotations: Annotations
  /** Client Service, StatefulSet, account and container of a cluster, and the name of the port of a versioned Service. */
  readonly service: string
  readonly server: ServerNames
  readonly tunnel: TunnelNames
  /** Name of the container port that a versioned Service prefers as target, and of its own port. */
  readonly portName: string
  /** Prefix of every annotation and label key that belongs to the operator. */
  readonly prefix: string
  readonly errors: { readonly invalidConfiguration: string }
  readonly metrics: {
    readonly reconciliations: string
    readonly errors: string
    readonly duration: string
    readonly crdMissing: string
    /** Prefix for metrics that only this operator has. */
    readonly prefix: string
  }
  readonly logLevelVariable: string
}

/** Field managers of server-side apply, one for each purpose whose fields must be able to go independently. */
export interface Managers {
  readonly main: string
  readonly replicas: string
  readonly annotations: string
  readonly deploymentId: string
  readonly registeredWith: string
  readonly forgottenBy: string
  readonly removal: string
  readonly scaleDown: string
  readonly scaleRestore: string
  readonly autoscaling: string
  readonly deletion: string
}

export interface Annotations {
  /** Id of the version's registration on the server. */
  readonly deploymentId: string
  /** Template JSON, to tell a hash collision from a version met again. */
  readonly podTemplate: string
  /** Canonical register target that the id belongs to, without credentials. */
  readonly registeredWith: string
  /** Register targets of before, separated by spaces, where the version is still registered too. */
  readonly alsoRegisteredWith: string
  /** Key of the server that forgot this version together with all others that had pods. */
  readonly forgottenBy: string
  /** RFC 3339: when a drained version may go. */
  readonly removeAt: string
  readonly tunnelName: string
  /** Value `disabled` suspends an object. */
  readonly reconcile: string
  /** On a cluster: the number of nodes it may shrink to although data may be lost. */
  readonly allowScaleDown: string
  /** On the pods of a server: the certificates that it trusts. */
  readonly trustedCaCerts: string
  /** On the pods of a tunnel: which token they were started with. */
  readonly bearerToken: string
}

/** What a server's objects are called, beside those that bear the one name `service`. */
export interface ServerNames {
  /** Headless Service of the nodes. */
  readonly nodes: string
  /** Name of a ConfigMap without the hash of its text. */
  readonly config: string
  /** The container, and where it has the volume with the data. */
  readonly container: string
  readonly dataPath: string
  /** Spellings of the variables that are the server's or the tunnel client's own, each of which is set. */
  readonly variables: ReadonlyArray<string>
  readonly policies: {
    readonly internet: string
    readonly awsIdentity: string
    readonly egress: string
  }
}

/** What the pods of a tunnel are called inside; outside they bear the name of their environment. */
export interface TunnelNames {
  /** The container, and the name label of everything of a tunnel. */
  readonly client: string
  /** The file with the API token. */
  readonly tokenPath: string
}

interface Words {
  readonly edition: Edition
  readonly group: string
  readonly word: string
  readonly Word: string
  readonly short: { readonly [K in OwnKind]: string }
  readonly logLevelVariable: string
  readonly variables: ReadonlyArray<string>
}

const vocabulary = ({ edition, group, word, Word, short, logLevelVariable, variables }: Words): Vocabulary => {
  const operator = `${word}-operator`
  const resource = (role: OwnKind, suffix: string, version: string, finalizer: string): ResourceNames => ({
    group,
    version,
    kind: `${Word}${suffix}`,
    plural: `${word}${suffix.toLowerCase()}s`,
    singular: `${word}${suffix.toLowerCase()}`,
    shortName: short[role],
    finalizer: `${finalizer}.${group}`,
  })
  const metric = (name: string) => `${word}_operator_${name}`
  return {
    edition,
    group,
    resources: {
      cluster: resource("cluster", "Cluster", "v1", "clusters"),
      deployment: resource("deployment", "Deployment", "v1beta1", "deployments"),
      environment: resource("environment", "CloudEnvironment", "v1beta1", "cloudenvironments"),
    },
    operator,
    managers: {
      main: operator,
      replicas: `${operator}/propagate-replicas`,
      annotations: `${operator}/propagate-annotations`,
      deploymentId: `${operator}/deployment-id`,
      registeredWith: `${operator}/registered-with`,
      forgottenBy: `${operator}/forgotten-by`,
      removal: `${operator}/remove-version-at`,
      scaleDown: `${operator}/scale-down`,
      scaleRestore: `${operator}/scale-restore`,
      autoscaling: `${operator}/autoscaling`,
      deletion: `${operator}/deletion`,
    },
    labels: {
      ownedBy: `${group}/owned-by`,
      allow: (cluster) => `allow.${group}/${cluster}`,
    },
    annotations: {
      deploymentId: `${group}/deployment-id`,
      podTemplate: `${group}/pod-template`,
      registeredWith: `${group}/registered-with`,
      alsoRegisteredWith: `${group}/also-registered-with`,
      forgottenBy: `${group}/forgotten-by`,
      removeAt: `${group}/remove-version-at`,
      tunnelName: `${group}/tunnel-name`,
      reconcile: `${group}/reconcile`,
      allowScaleDown: `${group}/allow-scale-down`,
      trustedCaCerts: `${group}/trusted-ca-certs`,
      bearerToken: `${group}/bearer-token`,
    },
    service: word,
    server: {
      nodes: `${word}-cluster`,
      config: `${word}-config`,
      container: word,
      dataPath: `/${word}-data`,
      variables,
      policies: {
        internet: `allow-${word}-egress-to-public-internet`,
        awsIdentity: `allow-${word}-egress-to-aws-pod-identity`,
        egress: `allow-${word}-egress`,
      },
    },
    tunnel: { client: `${word}-cloud-tunnel-client`, tokenPath: `/${word}-bearer-token` },
    portName: word,
    prefix: `${group}/`,
    errors: { invalidConfiguration: `Invalid${Word}Config` },
    metrics: {
      reconciliations: metric("reconciliations_total"),
      errors: metric("reconciliation_errors_total"),
      duration: metric("reconcile_duration_seconds"),
      crdMissing: metric("crd_missing"),
      prefix: metric(""),
    },
    logLevelVariable,
  }
}

export const vocabularies: { readonly [E in Edition]: Vocabulary } = {
  service: vocabulary({
    edition: "service",
    group: "durable.dev",
    word: "service",
    Word: "Service",
    short: { cluster: "dsc", deployment: "dsd", environment: "dce" },
    logLevelVariable: "LOG_LEVEL",
    // The image of the real server reads the second.
    variables: ["SERVICE_", "RESTATE_"],
  }),
  restate: vocabulary({
    edition: "restate",
    group: "restate.dev",
    word: "restate",
    Word: "Restate",
    short: { cluster: "rsc", deployment: "rsd", environment: "rce" },
    logLevelVariable: "RUST_LOG",
    variables: ["RESTATE_"],
  }),
}
