/** Historical points, as they are. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Span } from '../times.ts'
import { jsonOf, type Part } from './json.ts'
import type { Reader } from './reader.ts'
import type { Asked, Sight, Sights } from './sight.ts'

export interface DataQuestion extends Asked {
  span: Span
  descending: boolean
}

export interface DataRules {
  /** Whoever may not read learns so at once; the text comes as it is asked for. */
  read(ctx: Ctx, question: DataQuestion): Promise<AsyncIterable<Buffer>>
}

export function createDataRules({ sights, reader }: { sights: Sights; reader: Reader }): DataRules {
  async function* partsOf(ctx: Ctx, { endpoints, series }: Sight, question: DataQuestion): AsyncGenerator<Part> {
    const { applicationName, span, descending } = question
    if (series.length === 0) return
    for await (const page of endpoints) {
      const idOf = new Map(page.map(({ endpointNo, endpointId }) => [endpointNo, endpointId]))
      const asked = { tenantId: ctx.tenantId, applicationName, endpointNos: [...idOf.keys()], series }
      for await (const pieces of reader.read({ ...asked, ...span, descending, ahead: true }))
        yield { pieces, idOf: (endpointNo) => idOf.get(endpointNo)! }
    }
  }

  return {
    async read(ctx, question) {
      const sight = await sights.of(ctx, question)
      return jsonOf(partsOf(ctx, sight, question), question.descending)
    },
  }
}
