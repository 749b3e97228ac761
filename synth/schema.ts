/** What a schema file says, after parsing: names by role, one structural OpenAPI schema for `spec` and one for `status`. */
import type { OwnKind } from "#src/vocabulary.ts"

/** A CEL rule, as in `x-kubernetes-validations`. */
export interface Rule {
  rule: string
  message: string
  messageExpression?: string
  optionalOldSelf?: boolean
  fieldPath?: string
}

const schemaTypes = ["object", "array", "string", "integer", "number", "boolean"] as const
export type SchemaType = (typeof schemaTypes)[number]
export const isSchemaType = (value: unknown): value is SchemaType => schemaTypes.some((type) => type === value)

export type Scalar = string | number | boolean

/**
 * The part of OpenAPI v3 that schema files may use. `title` and `kubernetes` name the TypeScript type and do not reach the
 * custom resource definition; everything else does, with placeholders resolved.
 */
export interface Schema {
  title?: string
  /**
   * Name of a type in `kubernetes.yaml`. Reading puts the type in; what else the schema file says (a description,
   * `nullable`, rules, bounds of the type's properties) comes on top.
   */
  kubernetes?: string
  description?: string
  type?: SchemaType
  format?: string
  nullable?: boolean
  enum?: Array<Scalar>
  default?: Scalar
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  maxProperties?: number
  required?: Array<string>
  properties?: { [name: string]: Schema }
  additionalProperties?: Schema
  items?: Schema
  "x-kubernetes-preserve-unknown-fields"?: boolean
  "x-kubernetes-int-or-string"?: boolean
  "x-kubernetes-map-type"?: string
  "x-kubernetes-list-type"?: string
  "x-kubernetes-list-map-keys"?: Array<string>
  "x-kubernetes-validations"?: Array<Rule>
}

/** A column of `kubectl get`; priority 1 is shown only with `-o wide`. */
export interface PrinterColumn {
  name: string
  type: string
  jsonPath: string
  priority?: number
}

/** Subresources as the API server takes them. */
export interface Subresources {
  status?: Record<string, never>
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string }
}

/** One custom resource. */
export interface Resource {
  /** Where it was read, for messages: `schemas/service-deployment.yaml`. */
  file: string
  /** Which of our resources this is; the vocabulary knows its names. */
  role: OwnKind
  /** Name of the TypeScript type. */
  title: string
  scope: "Cluster" | "Namespaced"
  description: string
  subresources: Subresources
  printerColumns: Array<PrinterColumn>
  /** CEL rules on the object as a whole. */
  rules: Array<Rule>
  spec: Schema
  status: Schema
}
