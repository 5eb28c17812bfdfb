/** Compares the bytes of the first load and of each page, compressed by gzip, with their budgets. */
import { join } from 'node:path'
import { bundleConsole } from '../../src/assembly/console/bundle.ts'
import { budgets, sizesOf } from '../../test/harness/console-files.ts'
import { installedMegabytes, packagesOfConsole } from '../../test/harness/installed-size.ts'
import { withTemporaryDirectory } from '../platform.ts'
import { type Figure, median } from '../report.ts'

export const bytes = (): Promise<Figure[]> =>
  withTemporaryDirectory(async (directory) => {
    const build = join(directory, 'console')
    const { first, common, pages, all } = sizesOf(build, await bundleConsole(build))
    const sizes = [...pages.values()]
    return [
      { name: 'First load, gzip', value: first, unit: 'KB', limit: { max: budgets.first } },
      { name: 'Files that most pages share, gzip', value: common, unit: 'KB', limit: { max: budgets.common } },
      { name: 'The largest page, gzip', value: Math.max(...sizes), unit: 'KB', limit: { max: budgets.page } },
      { name: `A page, median of ${sizes.length}, gzip`, value: median(sizes), unit: 'KB' },
      { name: 'All files without the data of the map, gzip', value: all, unit: 'KB', limit: { max: budgets.all } },
      {
        name: 'Packages that are installed only for the console',
        value: installedMegabytes(packagesOfConsole()),
        unit: 'MB',
        limit: { max: budgets.installed },
      },
    ]
  })
