/** Measures the validation of definitions, and a tree of ten thousand nodes. */
import { trees } from './assets/trees.ts'
import { validation } from './assets/validation.ts'
import { openBenchPlatform } from './register/bench-platform.ts'
import type { Figure } from './report.ts'

export async function assets(): Promise<Figure[]> {
  const validated = await validation()
  const bench = await openBenchPlatform()
  try {
    return [...validated, ...(await trees(bench))]
  } finally {
    await bench.close()
  }
}
