/** The Kubernetes API over the wire: reader, writer, cache and reflectors as one layer. */
import { Effect, Layer, Context } from "effect"
import { Cache } from "../runtime/cache.ts"
import { Source } from "../runtime/source.ts"
import { reflect } from "../runtime/watch.ts"
import type { Vocabulary } from "../vocabulary.ts"
import type { Watched } from "./access.ts"
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
  /** Path of a kubeconfig; absent: KUBECONFIG, `~/.kube/config`, or the pod's ServiceAccount, whichever comes first. */
  readonly kubeconfig?: string
  /** Kinds to keep in the cache; reads of others fail. Default: all that the operator reads from the cache. */
  readonly kinds?: ReadonlyArray<Watched>
}

const allKinds = ["deployment", "cluster", "ReplicaSet", "Service", "EndpointSlice", "HorizontalPodAutoscaler"] as const

/**
 * Connects to the API server of the kubeconfig and starts one reflector a kind; they run until the layer's scope ends.
 * Fails only when there is nothing to connect to: a server that is away is waited for, see Source.synced.
 */
export const layer = ({
  kinds = allKinds,
  kubeconfig,
  vocabulary,
}: LiveOptions): Layer.Layer<KubernetesReader | KubernetesWriter | Source | Cache | Transport, Misconfigured> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const transport = yield* Transport
      const cache = yield* Cache
      const objects = new ObjectReader(vocabulary)
      for (const kind of kinds) yield* Effect.forkScoped(follow(kind, transport, cache, objects, vocabulary))
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

const follow = (
  kind: Watched,
  transport: Transport["Service"],
  cache: Cache["Service"],
  objects: ObjectReader,
  vocabulary: Vocabulary,
): Effect.Effect<never> => {
  // One branch a kind: a feed and the sink of the same kind, which the compiler cannot see for a union.
  switch (kind) {
    case "deployment":
      return reflect(feedOf(kind, transport, objects, vocabulary), cache.sink(kind))
    case "cluster":
      return reflect(feedOf(kind, transport, objects, vocabulary), cache.sink(kind))
    case "ReplicaSet":
      return reflect(feedOf(kind, transport, objects, vocabulary), cache.sink(kind))
    case "Service":
      return reflect(feedOf(kind, transport, objects, vocabulary), cache.sink(kind))
    case "EndpointSlice":
      return reflect(feedOf(kind, transport, objects, vocabulary), cache.sink(kind))
    case "HorizontalPodAutoscaler":
      return reflect(feedOf(kind, transport, objects, vocabulary), cache.sink(kind))
  }
}
