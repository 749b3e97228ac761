/** The Kubernetes API over the wire: reader, writer, cache and reflectors as one layer. */
import { Effect, Layer, Context } from "effect"
import { Cache } from "../runtime/cache.ts"
import { Source } from "../runtime/source.ts"
import { reflect } from "../runtime/watch.ts"
import type { Vocabulary } from "../vocabulary.ts"
import { access, type KindAccess, type Watched } from "./access.ts"
import { connect, type Misconfigured } from "./credentials.ts"
import { feedOf } from "./feed.ts"
import { indexes } from "./indexes.ts"
import { KubernetesReader, KubernetesWriter } from "./kubernetes.ts"
import { liveReader } from "./live-reader.ts"
import { liveWriter } from "./live-writer.ts"
import { ObjectReader } from "./objects.ts"
import { Transport } from "./transport.ts"

export interface LiveOptions {
  readonly vocabulary: Vocabulary
  /** The one namespace where kinds are followed that the access table calls the operator's own. */
  readonly operatorNamespace: string
  /** Path of a kubeconfig; absent: KUBECONFIG, `~/.kube/config`, or the pod's ServiceAccount, whichever comes first. */
  readonly kubeconfig?: string
  /** Kinds to keep in the cache; reads of others fail. Default: what versions are made of. */
  readonly kinds?: ReadonlyArray<Watched>
}

/** For a layer of its own, as in tests: the operator follows what its controllers watch. */
const versionKinds = ["deployment", "cluster", "ReplicaSet", "Service", "EndpointSlice", "HorizontalPodAutoscaler"] as const

/**
 * Connects to the API server of the kubeconfig and starts one reflector a kind; they run until the layer's scope ends.
 * Fails only when there is nothing to connect to: a server that is away is waited for, see Source.synced.
 */
export const layer = ({
  kinds = versionKinds,
  kubeconfig,
  operatorNamespace,
  vocabulary,
}: LiveOptions): Layer.Layer<KubernetesReader | KubernetesWriter | Source | Cache | Transport, Misconfigured> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const transport = yield* Transport
      const cache = yield* Cache
      const objects = new ObjectReader(vocabulary)
      const rows: { readonly [K in Watched]: KindAccess } = access(vocabulary)
      for (const kind of kinds) {
        const namespace = rows[kind].own === true ? operatorNamespace : undefined
        yield* Effect.forkScoped(reflect(feedOf(kind, transport, objects, vocabulary, namespace), cache.sink(kind)))
      }
      return Context.make(KubernetesReader, liveReader(transport, cache, objects, vocabulary)).pipe(
        Context.add(KubernetesWriter, yield* liveWriter(transport, cache, objects, vocabulary)),
      )
    }),
  ).pipe(
    Layer.provideMerge(Cache.layer(indexes(vocabulary))),
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(connect(kubeconfig), (connection) =>
          Transport.layer(connection, `${vocabulary.metrics.prefix}kubernetes_requests_total`),
        ),
      ),
    ),
  )
