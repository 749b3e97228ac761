/**
 * Parts of Kubernetes' own types inside our objects. They go into pods and policies as they are, so only what we look at
 * has a name here; the API server knows the rest.
 */

/** A part that nothing is known of. */
export interface Part {
  readonly [field: string]: unknown
}

/** A part of a list that is told apart by name: a container, a volume. */
export interface NamedPart extends Part {
  readonly name: string
}

/** A variable of a container, given or read from elsewhere. */
export interface EnvVar extends NamedPart {
  readonly value?: string
  readonly valueFrom?: Part
}

/** A volume at a path of a container. */
export interface VolumeMount extends NamedPart {
  readonly mountPath: string
}
