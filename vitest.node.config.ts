import { defineConfig } from "vitest/config"

/** The story on a real kubelet with containers: one machine, one node, so one file after the other. */
export default defineConfig({
  test: { name: "node", include: ["test/e2e/node/**/*.test.ts"], testTimeout: 300_000, hookTimeout: 600_000, fileParallelism: false },
})
