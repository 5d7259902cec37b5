package io.leasehold.spring

import io.leasehold.LeaseLostException
import io.leasehold.LockClient
import java.time.Duration
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.assertThatThrownBy
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test
import org.springframework.transaction.annotation.Transactional
import reactor.core.publisher.Sinks

/** Suspend functions with a transaction, over the manager of [ReactiveTransactionTest] that writes down what it does. */
@Tag("quick")
class LockedSuspendTransactionTest {

    private val application = Application.of(
        MemoryLocks::class.java,
        ReactiveTransactionTest.Transactions::class.java,
        Accounts::class.java,
    )
    private val locks = application.getBean(LockClient::class.java)
    private val accounts = application.getBean(Accounts::class.java)
    private val manager = application.getBean(ReactiveTransactionTest.Done::class.java)

    @AfterEach
    fun close() = application.close()

    open class Accounts {

        @Locked(name = "account", maxWait = "1m")
        @Transactional
        open suspend fun <T> pay(body: suspend () -> T): T = body()

        @Locked(name = "account", maxWait = "1m", onLoss = OnLoss.NOTIFY)
        @Transactional
        open suspend fun <T> payToTheEnd(body: suspend () -> T): T = body()
    }

    private fun isHeld() = locks.admin().inspect("account").isPresent

    private fun <T> test(body: suspend () -> T): T = runBlocking { withTimeout(1.minutes) { body() } }

    @Test
    fun `the lock is released after the commit`() = test<Unit> {
        val ending = CountDownLatch(1)
        val answer = manager.waits(ending)
        coroutineScope {
            val paid = launch(Dispatchers.Default) { accounts.pay { delay(1) } }
            withContext(Dispatchers.IO) { assertThat(ending.await(5, TimeUnit.MINUTES)).isTrue() }
            assertThat(isHeld()).isTrue()
            answer.emitEmpty(Sinks.EmitFailureHandler.FAIL_FAST)
            paid.join()
        }
        assertThat(manager.list).containsExactly("begin", "commit")
        assertThat(isHeld()).isFalse()
    }

    @Test
    fun `an exception rolls back and gives the lock back`() {
        assertThatThrownBy { test { accounts.pay { error("of the body") } } }.hasMessage("of the body")
        assertThat(manager.list).containsExactly("begin", "rollback")
        assertThat(isHeld()).isFalse()
    }

    @Test
    fun `a lost lease rolls back`() {
        val losing: suspend () -> Unit = {
            locks.admin().forceRelease("account", null)
            delay(1)
        }
        assertThatThrownBy { test { accounts.payToTheEnd(losing) } }.isInstanceOf(LeaseLostException::class.java)
        assertThat(manager.list).containsExactly("begin", "rollback")
        manager.list.clear()
        assertThatThrownBy {
            test {
                accounts.pay {
                    losing()
                    awaitCancellation()
                }
            }
        }.isInstanceOf(LeaseLostException::class.java)
        assertThat(manager.list).containsExactly("begin", "rollback")
    }

    private fun assertHeldUntil(goOn: () -> Unit) {
        assertThat(locks.named("account").tryAcquire(Duration.ofMillis(200))).isNull()
        goOn()
        locks.named("account").tryAcquire(Duration.ofMinutes(1)).use { assertThat(it).isNotNull() }
    }

    @Test
    fun `a cancellation rolls back, and the lock is kept until that is answered`() = test<Unit> {
        val ending = CountDownLatch(1)
        val answer = manager.waits(ending)
        val begun = CompletableDeferred<Unit>()
        coroutineScope {
            val running = launch(Dispatchers.Default) {
                accounts.pay {
                    begun.complete(Unit)
                    awaitCancellation()
                }
            }
            begun.await()
            running.cancel()
            withContext(Dispatchers.IO) {
                assertThat(ending.await(5, TimeUnit.MINUTES)).isTrue()
                assertHeldUntil { answer.emitEmpty(Sinks.EmitFailureHandler.FAIL_FAST) }
            }
        }
        assertThat(manager.list).containsExactly("begin", "rollback")
    }

    @Test
    fun `a cancelled function that still ends keeps its lock`() = test<Unit> {
        val begun = CompletableDeferred<Unit>()
        val goOn = CompletableDeferred<Unit>()
        coroutineScope {
            val running = launch(Dispatchers.Default) {
                accounts.pay {
                    begun.complete(Unit)
                    withContext(NonCancellable) { goOn.await() }
                }
            }
            begun.await()
            running.cancel()
            withContext(Dispatchers.IO) { assertHeldUntil { goOn.complete(Unit) } }
        }
        assertThat(manager.list).containsExactly("begin", "rollback")
    }
}
