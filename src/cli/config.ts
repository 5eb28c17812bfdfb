import { readSettings } from '../config.ts'

/** Prints the effective settings and the source of each. Secrets are masked. */
export async function run(): Promise<number> {
  const rows = [...readSettings().values()].map(({ name, value, origin, secret }) => {
    const text = value === undefined ? '(unset)' : secret ? '********' : value
    return [name, text, origin === 'default' ? 'default' : `from ${origin === 'file' ? `${name}_FILE` : 'environment'}`]
  })
  const width = (column: number) => Math.max(...rows.map((row) => row[column]!.length))
  for (const [name, value, from] of rows)
    process.stdout.write(`${name!.padEnd(width(0))}  ${value!.padEnd(width(1))}  ${from}\n`)
  return 0
}
