import { defineConfig } from "vitest/config"

/**
 * Two projects: `unit` needs nothing, `real` gets one Kubernetes control plane for the run (test/support/global-sandbox.ts)
 * and starts durable-execution servers of its own. Files that talk to a real server say so in their name.
 */
const real = ["test/**/*.real.test.ts", "test/**/*.e2e.test.ts", "test/conformance/**/*.test.ts"]

export default defineConfig({
  test: {
    reporters: process.env["CI"] === undefined ? ["default"] : ["dot"],
    projects: [
      { test: { name: "unit", include: ["test/**/*.test.ts"], exclude: [...real, "test/e2e/node/**"], isolate: false, maxWorkers: 2 } },
      {
        test: {
          name: "real",
          include: real,
          exclude: ["test/e2e/node/**"],
          globalSetup: ["test/support/global-sandbox.ts"],
          // Mostly waiting; each world has servers and loopback addresses of its own.
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
