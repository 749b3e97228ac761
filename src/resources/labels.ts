/** Labels of Kubernetes' own that say what an object belongs to. */

/** On everything of a version. EndpointSlices carry it too, because their controller copies the labels of the Service. */
export const managedByLabel = "app.kubernetes.io/managed-by"

/** On everything of a server: the same value for all servers. */
export const nameLabel = "app.kubernetes.io/name"

/** On everything of a server: the name of its ServiceCluster, which is that of its namespace too. */
export const instanceLabel = "app.kubernetes.io/instance"
