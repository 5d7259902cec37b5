package io.leasehold.kotlin

import io.leasehold.Acquirable
import io.leasehold.Attempt
import io.leasehold.DistributedLock
import io.leasehold.Lease
import io.leasehold.LeaseAtRiskException
import io.leasehold.LeaseLostException
import io.leasehold.Leasehold
import io.leasehold.LockBusyException
import io.leasehold.LockClient
import io.leasehold.LockName
import io.leasehold.LossCause
import io.leasehold.ReleaseOutcome
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionStage
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.isActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.test.runTest
import kotlinx.coroutines.withContext
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.fail
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test

/** When a block under a lock acquires, releases and ends. */
@Tag("quick")
class WithLeaseTest {

    private val patience = 1.minutes
    private val locks: LockClient = Leasehold.connect("memory:")
    private val lock: DistributedLock = locks.named("order:1")

    @AfterEach
    fun close() = locks.close()

    private fun isHeld() = locks.admin().inspect("order:1").isPresent

    private fun takeAway() = assertThat(locks.admin().forceRelease("order:1", null)).isTrue()

    private fun assertFree() {
        lock.tryAcquire(patience.toJavaDuration()).use { assertThat(it).isNotNull() }
        assertThat(isHeld()).isFalse()
    }

    private suspend inline fun <reified E : Throwable> thrownBy(crossinline code: suspend () -> Unit): E {
        try {
            code()
        } catch (e: Throwable) {
            assertThat(e).isInstanceOf(E::class.java)
            return e as E
        }
        return fail("nothing was thrown")
    }

    @Test
    fun `the lock is held while the block runs and free afterwards`() = runBlocking<Unit> {
        val token: Long = lock.withLease(3.seconds) { lease ->
            assertThat(isHeld()).isTrue()
            lease.fencingToken()
        }
        assertThat(isHeld()).isFalse()
        assertThat(lock.withLease(patience) { it.fencingToken() }).isGreaterThan(token)
        val thrown = thrownBy<IllegalArgumentException> {
            lock.withLease(patience) { throw IllegalArgumentException("of the block") }
        }
        assertThat(thrown).hasMessage("of the block").hasNoSuppressedExceptions()
        assertThat(isHeld()).isFalse()
    }

    @Test
    fun `the block ends with the last coroutine of its scope`() = runBlocking<Unit> {
        val ended = AtomicBoolean()
        lock.withLease(patience) {
            launch(Dispatchers.Default) {
                delay(20)
                assertThat(isHeld()).isTrue()
                ended.set(true)
            }
        }
        assertThat(ended).isTrue()
        assertFree()
    }

    @Test
    fun `a busy lock is thrown or skipped`() = runBlocking<Unit> {
        lock.acquire().use {
            thrownBy<LockBusyException> { lock.withLease(Duration.ZERO) { fail("it ran") } }
            assertThat(lock.tryWithLease { fail<String>("it ran") }).isNull()
            assertThat(lock.tryWithLease(1.milliseconds) { fail<String>("it ran") }).isNull()
        }
        assertThat(lock.tryWithLease { "ran" }).isEqualTo("ran")
    }

    @Test
    fun `patience may be without limit and not negative`() = runBlocking<Unit> {
        assertThat(lock.withLease(Duration.INFINITE) { "ran" }).isEqualTo("ran")
        thrownBy<IllegalArgumentException> { lock.withLease((-1).seconds) { fail("it ran") } }
    }

    @Test
    fun `a closed client is an error`() = runBlocking<Unit> {
        locks.close()
        val thrown = thrownBy<IllegalStateException> { lock.withLease(patience) { fail("it ran") } }
        assertThat(thrown).isNotInstanceOf(CancellationException::class.java)
    }

    @Test
    fun `a client that closes ends a wait by an error and not by a cancellation`() = runBlocking<Unit> {
        lock.acquire()
        val ended = CompletableDeferred<Throwable>()
        launch(start = CoroutineStart.UNDISPATCHED) {
            try {
                lock.withLease(patience) { fail("it ran") }
            } catch (e: Throwable) {
                ended.complete(e)
            }
        }
        locks.close()
        assertThat(ended.await()).isNotInstanceOf(CancellationException::class.java)
    }

    @Test
    fun `the coroutine context has the innermost lease of each kind`() = runBlocking<Unit> {
        lock.withLease(patience) { outer ->
            locks.named("order:2").withLease(patience) { inner ->
                assertThat(withContext(Dispatchers.Default) { currentLease() }).isSameAs(inner)
                locks.all("order:3", "order:4").withLease(patience) { both ->
                    assertThat(currentLease()).isSameAs(inner)
                    assertThat(currentMultiLease()).isSameAs(both)
                    assertThat(both.fencingToken("order:4")).isPositive()
                }
            }
            assertThat(currentLease()).isSameAs(outer)
            thrownBy<IllegalStateException> { currentMultiLease() }
        }
        assertThat(thrownBy<IllegalStateException> { currentLease() }).hasMessageContaining("no lease")
    }

    @Test
    fun `it runs under a test scheduler`() = runTest {
        lock.withLease(3.seconds) {
            delay(1.minutes) // of the scheduler's time: the lease does not see it
            assertThat(it.isValid).isTrue()
        }
    }

    @Test
    fun `cancelling while it waits leaves the queue`() = runBlocking<Unit> {
        lock.acquire().use {
            val waiting = launch(start = CoroutineStart.UNDISPATCHED) {
                lock.withLease(patience) { fail("it ran") }
            }
            waiting.cancelAndJoin()
        }
        assertFree()
    }

    @Test
    fun `a caller that is already cancelled asks for nothing`() = runBlocking<Unit> {
        val asking = launch(start = CoroutineStart.UNDISPATCHED) {
            try {
                awaitCancellation()
            } finally {
                thrownBy<CancellationException> { lock.withLease(patience) { fail("it ran") } }
            }
        }
        asking.cancelAndJoin()
        assertFree()
    }

    @Test
    fun `cancelling ends the block before the lock is given back`() = runBlocking<Unit> {
        val begun = CompletableDeferred<Unit>()
        val heldToTheEnd = CompletableDeferred<Boolean>()
        val running = launch(Dispatchers.Default) {
            lock.withLease(patience) { lease ->
                begun.complete(Unit)
                try {
                    awaitCancellation()
                } finally {
                    withContext(NonCancellable) { delay(20) }
                    heldToTheEnd.complete(lease.isValid && isHeld())
                }
            }
        }
        begun.await()
        running.cancelAndJoin()
        assertThat(heldToTheEnd.await()).isTrue()
        assertThat(isHeld()).`as`("once the caller has ended").isFalse()
    }

    @Test
    fun `a grant that meets a cancelled caller is given back`() = runBlocking<Unit> {
        val asking = CompletableDeferred<kotlinx.coroutines.Job>()
        val late = AnsweredLater(lock) { runBlocking { asking.await().cancel() } }
        asking.complete(launch(Dispatchers.Default) { late.withLease(patience) { fail("it ran") } })
        asking.await().join()
        assertFree()
    }

    @Test
    fun `a caller that is cancelled between the grant and its dispatch gives it back`() = runBlocking<Unit> {
        val suspended = CountDownLatch(1)
        val late = AnsweredLater(lock) { suspended.await() }
        val asking = launch(start = CoroutineStart.UNDISPATCHED) { late.withLease(patience) { fail("it ran") } }
        suspended.countDown()
        late.answered.join() // holds up the only thread on which it could go on
        asking.cancelAndJoin()
        assertFree()
    }

    @Test
    fun `a loss cancels the scope with its cause and is thrown to the caller`() = runBlocking<Unit> {
        val cancellation = CompletableDeferred<Throwable>()
        val thrown = thrownBy<LeaseLostException> {
            lock.withLease(patience) {
                launch(start = CoroutineStart.UNDISPATCHED) {
                    try {
                        awaitCancellation()
                    } catch (e: CancellationException) {
                        cancellation.complete(e)
                        throw e
                    }
                }
                takeAway()
                awaitCancellation()
            }
        }
        assertThat(thrown.message).contains("FORCE_RELEASED")
        assertThat(thrown).hasNoSuppressedExceptions()
        assertThat(generateSequence(cancellation.await()) { it.cause }.toList()).anyMatch { it is LeaseLostException }
        assertThat(currentCoroutineContextIsActive()).isTrue()
        assertFree()
    }

    private suspend fun currentCoroutineContextIsActive() = withContext(Dispatchers.Default) { isActive }

    @Test
    fun `a block that ignores the loss fails all the same`() = runBlocking<Unit> {
        thrownBy<LeaseLostException> {
            lock.withLease(patience) { lease ->
                takeAway()
                while (lease.isValid) {
                    Thread.onSpinWait()
                }
                "not to be seen"
            }
        }
        val thrown = thrownBy<LeaseLostException> {
            lock.withLease(patience) { lease ->
                takeAway()
                while (lease.isValid) {
                    Thread.onSpinWait()
                }
                throw IllegalArgumentException("of the block")
            }
        }
        assertThat(thrown.suppressed.map { it.message }).containsExactly("of the block")
    }

    /** The caller must learn of its own lock: the code around may expect the loss of the other one. */
    @Test
    fun `a block that throws the loss of another lock does not hide its own`() = runBlocking<Unit> {
        val other = LeaseLostException(LockName.exactly("order:2"), LossCause.EXPIRED, "made by the test")
        val thrown = thrownBy<LeaseLostException> {
            lock.withLease(patience) { lease ->
                takeAway()
                while (lease.isValid) {
                    Thread.onSpinWait()
                }
                throw other
            }
        }
        assertThat(thrown.lockName()).isEqualTo(LockName.exactly("order:1"))
        assertThat(thrown.suppressed.map { (it as LeaseLostException).lockName() }).containsExactly(other.lockName())
    }

    @Test
    fun `a caller that is cancelled hears of that and not of the loss`() = runBlocking<Unit> {
        val begun = CompletableDeferred<Unit>()
        val ended = CompletableDeferred<Throwable>()
        val running = launch(Dispatchers.Default) {
            try {
                lock.withLease(patience) {
                    begun.complete(Unit)
                    try {
                        awaitCancellation()
                    } finally {
                        takeAway()
                    }
                }
            } catch (e: Throwable) {
                ended.complete(e)
                throw e
            }
        }
        begun.await()
        running.cancelAndJoin()
        assertThat(ended.await()).isInstanceOf(CancellationException::class.java)
    }

    @Test
    fun `a lease that is lost before its caller has it runs nothing`() = runBlocking<Unit> {
        val late = AnsweredLater(lock) { lease ->
            takeAway()
            while (lease.isValid) {
                Thread.onSpinWait()
            }
        }
        thrownBy<LeaseLostException> { late.withLease(patience) { fail("it ran") } }
    }

    @Test
    fun `a lease that the block itself gave back is no loss`() = runBlocking<Unit> {
        assertThat(lock.withLease(patience) { lease ->
            lease.releaseAsync().join()
            "done"
        }).isEqualTo("done")
    }

    /** A lock whose holds are valid once the confirmation has come, as after a suspension of the machine. */
    private fun unconfirmed(confirmation: CompletableFuture<Void>): Acquirable<Lease> =
        object : Acquirable<Lease> by lock {
            override fun attemptAsync(maxWait: java.time.Duration): CompletableFuture<Attempt<Lease>> =
                lock.attemptAsync(maxWait).thenApply { Attempt.Acquired(unconfirmed(it.orElseThrow(), confirmation)) }
        }

    private fun unconfirmed(held: Lease, confirmation: CompletableFuture<Void>): Lease =
        object : Lease by held {
            override fun isValid() = confirmation.isDone && !confirmation.isCompletedExceptionally

            override fun ensureValidForAsync(duration: java.time.Duration): CompletionStage<Void> = confirmation
        }

    @Test
    fun `a hold that is not valid yet is confirmed before its block begins`() = runBlocking<Unit> {
        val confirmation = CompletableFuture<Void>()
        val ran = AtomicBoolean()
        val running = launch(Dispatchers.Default) { unconfirmed(confirmation).withLease(patience) { ran.set(true) } }
        while (!isHeld()) {
            delay(1)
        }
        delay(50)
        assertThat(ran).isFalse()
        confirmation.complete(null)
        running.join()
        assertThat(ran).isTrue()
        assertFree()
    }

    @Test
    fun `without a confirmation no block begins`() = runBlocking<Unit> {
        val atRisk = LeaseAtRiskException(LockName.exactly("order:1"), java.time.Duration.ZERO, java.time.Duration.ZERO)
        thrownBy<LeaseAtRiskException> {
            unconfirmed(CompletableFuture.failedFuture(atRisk)).withLease(patience) { fail("it ran") }
        }
        assertFree()
    }

    /** A lock whose leases are given back, and say then that they could not be. */
    private fun failing(failure: Throwable): Acquirable<Lease> =
        object : Acquirable<Lease> by lock {
            override fun attemptAsync(maxWait: java.time.Duration): CompletableFuture<Attempt<Lease>> =
                lock.attemptAsync(maxWait).thenApply { Attempt.Acquired(failing(it.orElseThrow(), failure)) }
        }

    private fun failing(held: Lease, failure: Throwable): Lease =
        object : Lease by held {
            override fun releaseAsync(): CompletableFuture<ReleaseOutcome> {
                held.releaseAsync().join()
                throw failure
            }
        }

    @Test
    fun `a release that cannot be sent is no failure of the block`() = runBlocking<Unit> {
        for (failure in listOf(IllegalStateException("made"), StackOverflowError("made"))) {
            assertThat(failing(failure).withLease(patience) { "done" }).isEqualTo("done")
            assertThat(failing(failure).tryWithLease { "done" }).isEqualTo("done")
            assertThat(thrownBy<NoSuchElementException> {
                failing(failure).withLease<Lease, Unit>(patience) { throw NoSuchElementException("of the block") }
            }).hasMessage("of the block")
            assertThat(isHeld()).isFalse()
        }
    }
}

/** A lock at which something happens between the grant and its caller. */
private class AnsweredLater(private val lock: DistributedLock, private val between: (Lease) -> Unit) :
    Acquirable<Lease> by lock {

    /** Done once the caller has been resumed. */
    val answered = CompletableFuture<Unit>()

    override fun attemptAsync(maxWait: java.time.Duration): CompletableFuture<Attempt<Lease>> {
        val future = object : CompletableFuture<Attempt<Lease>>() {
            override fun cancel(mayInterruptIfRunning: Boolean) = false // too late: the grant is on its way to the caller
        }
        lock.attemptAsync(maxWait).thenAcceptAsync {
            between(it.orElseThrow())
            future.complete(it)
            answered.complete(Unit)
        }
        return future
    }
}
