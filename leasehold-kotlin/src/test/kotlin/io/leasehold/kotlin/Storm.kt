package io.leasehold.kotlin

import io.leasehold.Leasehold
import io.leasehold.LockListener
import java.time.Duration
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicIntegerArray
import java.util.concurrent.atomic.AtomicLong
import kotlin.random.Random
import kotlin.time.Duration.Companion.minutes
import kotlin.time.toJavaDuration
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.yield
import org.assertj.core.api.Assertions.assertThat

private const val LOCKS = 4
private const val ROUND = 64
private const val AT_ONCE = 32

// A tenth of it is the time limit of a request, which a busy machine must meet.
private val TTL: Duration = Duration.ofSeconds(10)

/** Cancels so many coroutines, each before, at or after its grant, and finds nothing left behind. */
internal fun storm(uri: String, cancellations: Int, seed: Int) {
    val random = Random(seed)
    val renewals = AtomicLong()
    val inside = AtomicIntegerArray(LOCKS)
    val together = AtomicInteger()
    val counting = object : LockListener {
        override fun renewed(event: LockListener.Renewed) {
            renewals.incrementAndGet()
        }
    }
    Leasehold.builder().store(uri).listener(counting).connect().use { locks ->
        runBlocking(Dispatchers.Default) {
            val atOnce = Semaphore(AT_ONCE)
            repeat(cancellations) { i ->
                atOnce.acquire()
                val kind = random.nextInt(4)
                val lock = locks.named("order:${i % LOCKS}").with { it.ttl(TTL) }
                val asking: Job = launch {
                    lock.withLease(1.minutes) {
                        if (inside.incrementAndGet(i % LOCKS) > 1) {
                            together.incrementAndGet()
                        }
                        try {
                            when (kind) {
                                0 -> Unit
                                1 -> yield()
                                2 -> delay(1)
                                else -> awaitCancellation()
                            }
                        } finally {
                            inside.decrementAndGet(i % LOCKS)
                        }
                    }
                }
                // What can end by itself sometimes does.
                val moment = if (i % ROUND == 0 && kind < 3) null else moment(i, random)
                launch {
                    moment?.let {
                        delay(it)
                        asking.cancel()
                    }
                    asking.join()
                    atOnce.release()
                }
            }
        }
        for (i in 0 until LOCKS) {
            locks.named("order:$i").tryAcquire(1.minutes.toJavaDuration()).use { assertThat(it).isNotNull() }
            assertThat(locks.admin().waiters("order:$i", 9)).isEmpty()
        }
        assertThat(locks.admin().list("*", 9)).isEmpty()
        assertThat(together).hasValue(0)
        val before = renewals.get()
        Thread.sleep(TTL.dividedBy(2).toMillis())
        assertThat(renewals).`as`("renewals of leases that nobody holds").hasValue(before)
    }
}

private fun moment(i: Int, random: Random): Long = when (i / ROUND % 3) {
    0 -> 0
    1 -> random.nextLong(4)
    else -> random.nextLong(30)
}
