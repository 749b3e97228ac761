/** Receives one line whenever something that takes long has moved on. */
export type Progress = (line: string) => void

/** Nobody listens. */
export const silent: Progress = () => {}
