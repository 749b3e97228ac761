/** Mistakes in schema files, collected so that one run shows them all. */

/** One mistake: the file, the dotted path inside it, and what is wrong in words. */
export interface Problem {
  readonly file: string
  readonly path: string
  readonly message: string
}

/** `schemas/service-deployment.yaml: spec.properties.foo: message` */
export const line = ({ file, path, message }: Problem): string => [file, path, message].filter((part) => part !== "").join(": ")

/** Ends the synthesis; its message is one line a problem and is all that a person gets to see. */
export class SchemaProblems extends Error {
  readonly problems: ReadonlyArray<Problem>
  constructor(problems: ReadonlyArray<Problem>) {
    super(problems.map(line).join("\n"))
    this.name = "SchemaProblems"
    this.problems = problems
  }
}

/** Takes down a mistake at a path of the file that is being read. */
export type Report = (path: string, message: string) => void
