import { Type } from '../../../../kernel/schema.ts'
import type { ActionTypeDefinition } from './action-type.ts'

export const sendEmail: ActionTypeDefinition = {
  type: 'send-email',
  title: 'SendEmailAction',
  description: 'Sends an e-mail.',
  attributes: {
    recipientsExpression: {
      description:
        'Addresses, separated by commas or semicolons, or an array of addresses: 1 to 50, plain or `Name <address>`.',
      literal: 'text or array',
      required: true,
    },
    subjectExpression: { description: 'The subject.', literal: 'text', required: true },
    textExpression: {
      description: 'The text of the e-mail. Values that are not text are sent as JSON.',
      literal: 'text',
      required: true,
    },
    attachmentExpression: {
      description: 'An attachment: an object, or its JSON, with `fileName`, `type` (MIME type) and `payload` (base64).',
      literal: 'object',
    },
  },
  fields: {
    contentType: Type.Optional(
      Type.Enum(['TEXT', 'HTML'], { description: 'Format in which mail programs show the text. Default: TEXT.' }),
    ),
  },
  needs: [],
  complete: (fields) => ({ contentType: 'TEXT', ...fields }),
  example: {
    name: 'tell the caretaker',
    recipientsExpression: 'caretaker@example.org',
    subjectExpression: "return 'Too hot: ' + ctx.endpoint.endpointId",
    textExpression: 'The room is too hot.',
  },
}
