/** Our session layer behind which everybody may talk to everybody: whom the suites of other brokers and nuisances speak to. */
import { startOpenBroker } from '../../../test/harness/open-broker.ts'
import { answerRequests } from './serve.ts'

const { port, close } = await startOpenBroker()
answerRequests(port, close)
