/** Addresses of deployments, as the server tells them apart. */

/** The server ignores scheme, query and a trailing slash; host spelling and path matter (measured, server 1.7.12). */
export const endpointKey = (endpoint: string): string =>
  endpoint
    .replace(/^[a-z]+:\/\//i, "")
    .replace(/[?#].*$/, "")
    .replace(/\/+$/, "")

/**
 * Under which a registration or deregistration of that address is remembered besides its services; never the name of
 * one. A version without a recorded id is judged by its address: a look from before that says nothing of it.
 */
export const hostOf = (endpoint: string): string => endpointKey(endpoint).replace(/\/.*$/, "")
