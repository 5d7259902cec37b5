package io.leasehold.spring

import io.leasehold.Attempt
import io.leasehold.Lease
import io.leasehold.LeaseLostException
import io.leasehold.LockBusyException
import io.leasehold.LockClient
import java.time.Duration
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlin.random.Random
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flowOf
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.reactor.awaitSingle
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.assertj.core.api.Assertions.assertThat
import org.assertj.core.api.Assertions.assertThatThrownBy
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test

/** Suspend functions. */
@Tag("quick")
class LockedSuspendTest {

    private val application = Application.of(MemoryLocks::class.java, Orders::class.java)
    private val locks = application.getBean(LockClient::class.java)
    private val orders = application.getBean(Orders::class.java)

    @AfterEach
    fun close() = application.close()

    open class Orders {

        @Locked(name = "order:{}", key = ["#id"], maxWait = "1m")
        open suspend fun <T> run(id: String, body: suspend () -> T): T = body()

        @Locked(name = "order:{}", key = ["#id"], maxWait = "0")
        open suspend fun token(id: String, @FencingToken token: Long, lease: Lease?): Long {
            delay(1)
            assertThat(lease!!.fencingToken()).isEqualTo(token)
            assertThat(ReactiveLocks.current().awaitSingle()).isSameAs(lease)
            return token
        }

        @Locked(name = "order:{}", key = ["#id"], maxWait = "0", onBusy = OnBusy.SKIP)
        open suspend fun skipping(id: String): String? = "ran $id"

        @Locked(name = "order:{}", key = ["#id"], maxWait = "0", onBusy = OnBusy.SKIP)
        open suspend fun skippingUnit(id: String) {
            delay(id.length.milliseconds)
        }

        @Locked(name = "order:{}", key = ["#id"], maxWait = "0", onBusy = OnBusy.FALLBACK, fallback = "busy")
        open suspend fun falling(id: String): String = "ran $id"

        @Suppress("unused") // named above
        suspend fun busy(id: String, busy: Attempt.Busy<*>): String {
            delay(1)
            return "${busy.lockName()} is busy, $id"
        }
    }

    private fun isHeld() = locks.admin().inspect("order:1").isPresent

    private fun <T> test(body: suspend () -> T): T = runBlocking { withTimeout(1.minutes) { body() } }

    @Test
    fun `the lock is held until the function returns`() = test<Unit> {
        assertThat(orders.run("1") { delay(1).let { isHeld() } }).isTrue()
        assertThat(isHeld()).isFalse()
        assertThat(orders.token("1", 0, null)).isPositive()
        assertThat(isHeld()).isFalse()
    }

    @Test
    fun `an exception is passed on, and the lock given back`() {
        assertThatThrownBy { test { orders.run("1") { error("of the body") } } }.hasMessage("of the body")
        assertThat(isHeld()).isFalse()
    }

    @Test
    fun `a waiting function leaves its thread to others`() = test<Unit> {
        val inside = CompletableDeferred<Unit>()
        val order = mutableListOf<String>()
        coroutineScope {
            launch {
                orders.run("1") {
                    inside.complete(Unit)
                    delay(20)
                    order += "first"
                }
            }
            inside.await()
            // On the only thread there is, that of the test.
            launch { orders.run("1") { order += "second" } }
        }
        assertThat(order).containsExactly("first", "second")
    }

    @Test
    fun `a busy lock is thrown, skipped or handed to the fallback`() = test<Unit> {
        assertThat(orders.skipping("1")).isEqualTo("ran 1")
        assertThat(orders.falling("1")).isEqualTo("ran 1")
        locks.named("order:1").acquire().use {
            assertThat(runCatching { orders.token("1", 0, null) }.exceptionOrNull())
                .isInstanceOf(LockBusyException::class.java)
            assertThat(orders.skipping("1")).isNull()
            orders.skippingUnit("1")
            assertThat(orders.falling("1")).isEqualTo("order:1 is busy, 1")
        }
    }

    @Test
    fun `a loss cancels the function and is told`() = test<Unit> {
        val cancelled = CompletableDeferred<Unit>()
        val thrown = runCatching {
            orders.run("1") {
                locks.admin().forceRelease("order:1", null)
                try {
                    awaitCancellation()
                } finally {
                    cancelled.complete(Unit)
                }
            }
        }
        assertThat(thrown.exceptionOrNull()).isInstanceOf(LeaseLostException::class.java)
        cancelled.await()
    }

    @Test
    fun `the same lock inside is refused`() {
        assertThatThrownBy { test { orders.run("1") { orders.run("1") {} } } }.hasMessageContaining("not reentrant")
        assertThat(test { orders.run("1") { orders.run("2") { "inner" } } }).isEqualTo("inner")
    }

    private fun assertHeldUntil(goOn: () -> Unit) {
        assertThat(locks.named("order:1").tryAcquire(Duration.ofMillis(200))).isNull()
        goOn()
        locks.named("order:1").tryAcquire(Duration.ofMinutes(1)).use { assertThat(it).isNotNull() }
    }

    @Test
    fun `a cancelled function keeps its lock while it ends`() = test<Unit> {
        val begun = CompletableDeferred<Unit>()
        val goOn = CompletableDeferred<Unit>()
        coroutineScope {
            val running = launch(Dispatchers.Default) {
                orders.run("1") {
                    try {
                        begun.complete(Unit)
                        awaitCancellation()
                    } finally {
                        withContext(NonCancellable) { goOn.await() }
                    }
                }
            }
            begun.await()
            running.cancel()
            assertHeldUntil { goOn.complete(Unit) }
        }
    }

    @Test
    fun `a cancelled function keeps its lock while it computes`() = test<Unit> {
        val begun = CompletableDeferred<Unit>()
        val goOn = CountDownLatch(1)
        coroutineScope {
            val running = launch(Dispatchers.Default) {
                orders.run("1") {
                    begun.complete(Unit)
                    assertThat(goOn.await(5, TimeUnit.MINUTES)).isTrue()
                }
            }
            begun.await()
            running.cancel()
            assertHeldUntil { goOn.countDown() }
        }
    }

    @Test
    fun `a cancelled function keeps its lock while coroutines of its scope run`() = test<Unit> {
        val begun = CompletableDeferred<Unit>()
        val goOn = CountDownLatch(1)
        coroutineScope {
            val running = launch {
                orders.run("1") {
                    coroutineScope {
                        async(Dispatchers.IO) {
                            begun.complete(Unit)
                            goOn.await(5, TimeUnit.MINUTES)
                        }.await()
                    }
                }
            }
            begun.await()
            running.cancel()
            withContext(Dispatchers.Default) { assertHeldUntil { goOn.countDown() } }
        }
    }

    @Test
    fun `cancellations at any moment leave nothing`() = test<Unit> {
        val random = Random(1)
        coroutineScope {
            List(1000) { launch(Dispatchers.Default) { orders.run("1") { delay(1) } } }
                .onEach { running ->
                    val moment = random.nextInt(3000).microseconds
                    launch(Dispatchers.Default) {
                        delay(moment)
                        running.cancel()
                    }
                }
                .joinAll()
        }
        locks.named("order:1").tryAcquire(Duration.ofMinutes(1)).use { assertThat(it).isNotNull() }
        assertThat(locks.admin().list("*", 10)).isEmpty()
        application.getBean(MemoryLocks.Counting::class.java).assertNoneHeld()
    }

    open class SkipsWithoutResult {
        @Locked(maxWait = "0", onBusy = OnBusy.SKIP)
        open suspend fun count(): Long = 1
    }

    open class ReturnsFlow {
        @Locked(maxWait = "0")
        open suspend fun all(): Flow<String> = flowOf("one")
    }

    @Test
    fun `what cannot work is refused at start`() {
        assertThat(Application.refused(MemoryLocks::class.java, SkipsWithoutResult::class.java))
            .hasMessageContaining("count(Continuation) skips when the lock is busy")
        assertThat(Application.refused(MemoryLocks::class.java, ReturnsFlow::class.java))
            .hasMessageContaining("returns a Flow")
    }
}
