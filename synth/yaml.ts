/** Objects as YAML text: sorted keys, no anchors, and comments where a reader needs them. */
import { Document, isNode } from "yaml"

/** Comments for list entries: `rules/0` → the text above the first rule. */
export type Comments = ReadonlyMap<string, string>

/** One YAML document. Keys come sorted from cdk8s. */
export const toYaml = (object: unknown, comments: Comments = new Map()): string => {
  const document = new Document(object, { aliasDuplicateObjects: false })
  for (const [path, comment] of comments) {
    const node = document.getIn(
      path.split("/").map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
      true,
    )
    if (isNode(node)) node.commentBefore = ` ${comment}`
  }
  return document.toString({ lineWidth: 120 })
}
