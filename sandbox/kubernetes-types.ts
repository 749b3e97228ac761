/** What every object of Kubernetes has. */
export interface KubernetesObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: Metadata
}

/** The part of an object's metadata that the sandbox reads or writes. */
export interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: ReadonlyArray<string>
  readonly ownerReferences?: ReadonlyArray<{ readonly kind: string; readonly name: string; readonly uid: string }>
}

/** A variable of a container: given, or read from the pod (`fieldRef`), or from a ConfigMap or Secret of its namespace. */
export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly configMapKeyRef?: KeyRef
    readonly secretKeyRef?: KeyRef
  }
}

/** One key of a ConfigMap or Secret. */
export interface KeyRef {
  readonly name: string
  readonly key: string
  readonly optional?: boolean
}

/** How a container is asked whether it is ready. */
export interface Probe {
  readonly httpGet?: { readonly path?: string; readonly port: number | string }
  readonly tcpSocket?: { readonly port: number | string }
  readonly initialDelaySeconds?: number
  readonly periodSeconds?: number
}

/** A container as written in a pod. */
export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: ReadonlyArray<string>
  readonly args?: ReadonlyArray<string>
  readonly env?: ReadonlyArray<EnvVar>
  readonly ports?: ReadonlyArray<{ readonly name?: string; readonly containerPort: number }>
  readonly readinessProbe?: Probe
  readonly restartPolicy?: string
  readonly resources?: { readonly requests?: Readonly<Record<string, string | number>> }
}

/** A pod as far as the stand-in node looks at it. */
export interface Pod extends KubernetesObject {
  readonly spec: {
    readonly nodeName?: string
    readonly nodeSelector?: Readonly<Record<string, string>>
    readonly serviceAccountName?: string
    readonly restartPolicy?: string
    readonly terminationGracePeriodSeconds?: number
    readonly containers: ReadonlyArray<Container>
    readonly initContainers?: ReadonlyArray<Container>
  }
  readonly status?: { readonly phase?: string; readonly podIP?: string }
}

/** A Service as far as the router looks at it. */
export interface Service extends KubernetesObject {
  readonly spec: {
    readonly ports?: ReadonlyArray<{ readonly name?: string; readonly port: number }>
  }
}

/** An EndpointSlice as far as the router looks at it. */
export interface EndpointSlice extends KubernetesObject {
  readonly endpoints?: ReadonlyArray<{
    readonly addresses: ReadonlyArray<string>
    readonly conditions?: { readonly ready?: boolean }
  }> | null
  readonly ports?: ReadonlyArray<{ readonly name?: string; readonly port?: number }> | null
}
