/** Provisioning over gRPC without TLS, as the nodes speak it among themselves. */
import { create, createFileRegistry } from "@bufbuild/protobuf"
import { EmptySchema, FileDescriptorProtoSchema, file_google_protobuf_empty } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { Effect, Layer } from "effect"
import { Rejected, Unavailable } from "../errors.ts"
import { Provisioner } from "./provisioner.ts"

/** Milliseconds; how long the server may take to write its first metadata (operator.md §2.12). */
const callTimeout = 30_000

/** Milliseconds after which a connection without a call is closed. */
const idle = 1_000

const packageName = "restate.node_ctl_svc"

/**
 * All of the request's fields are left to the server's own configuration, and nothing is read of the answer: on the wire
 * both are empty messages. So the well-known empty type stands for them, and no code has to be generated.
 */
const provisionCluster = () => {
  const file = create(FileDescriptorProtoSchema, {
    name: "node_ctl_svc.proto",
    package: packageName,
    syntax: "proto3",
    dependency: [file_google_protobuf_empty.proto.name],
    service: [
      {
        name: "NodeCtlSvc",
        method: [{ name: "ProvisionCluster", inputType: `.${EmptySchema.typeName}`, outputType: `.${EmptySchema.typeName}` }],
      },
    ],
  })
  const method = createFileRegistry(file, (name) =>
    name === file_google_protobuf_empty.proto.name ? file_google_protobuf_empty : undefined,
  )
    .getService(`${packageName}.NodeCtlSvc`)
    ?.methods.at(0)
  if (method === undefined) throw new Error("the description of the one call is broken")
  return { ...method, methodKind: "unary" } as const
}

export const layer: Layer.Layer<Provisioner> = Layer.sync(Provisioner, () => {
  const method = provisionCluster()
  return Provisioner.of({
    provision: (address) =>
      Effect.tryPromise({
        // A connection of its own, which ends when it is idle: there is one call in the life of a cluster.
        try: (signal) =>
          createGrpcTransport({ baseUrl: address, idleConnectionTimeoutMs: idle }).unary(method, signal, callTimeout, undefined, {}),
        catch: (error) => failure(address, ConnectError.from(error)),
      }).pipe(
        Effect.asVoid,
        Effect.catchTag("AlreadyProvisioned", () => Effect.void),
      ),
  })
})

/** It was done before, by us or by somebody else. */
class AlreadyProvisioned {
  readonly _tag = "AlreadyProvisioned"
}

const failure = (address: string, { code, rawMessage }: ConnectError): Unavailable | Rejected | AlreadyProvisioned => {
  const detail = `provisioning through ${address}: ${rawMessage}`
  switch (code) {
    case Code.AlreadyExists:
      return new AlreadyProvisioned()
    case Code.InvalidArgument:
    case Code.FailedPrecondition:
    case Code.PermissionDenied:
    case Code.Unimplemented:
      return new Rejected({ server: "admin", status: code, code: Code[code], detail })
    default:
      return new Unavailable({ server: "admin", detail })
  }
}
