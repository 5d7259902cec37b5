package io.leasehold.kotlin

import io.leasehold.Acquirable
import io.leasehold.Attempt
import io.leasehold.Hold
import io.leasehold.Lease
import io.leasehold.LeaseLostException
import io.leasehold.LossCause
import io.leasehold.MultiLease
import io.leasehold.ReleaseOutcome
import io.leasehold.spi.method.LeaseScope
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionException
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.time.Duration
import kotlin.time.toJavaDuration
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.isActive
import kotlinx.coroutines.job
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.withContext

/**
 * Runs [block] while the lock is held, and releases the lock when the block and all coroutines of its scope have ended.
 *
 * - **Cancellation** of the caller leaves the queue, releases a grant that was on its way, or cancels the block. -
 * **Loss** cancels the scope of the block; the cause of that [CancellationException] is the [LeaseLostException]. The
 * caller receives the [LeaseLostException], even if the block has completed and only the release detects the loss: it
 * does not cancel the caller. An exception of the block is suppressed in it. - **Release**: the call waits for it, for
 * at most the store's time limit, and never cancels it.
 *
 * Inside, [currentLease] and [currentMultiLease] find the hold in the coroutine context.
 *
 * @param maxWait the patience, never a ttl; zero means one round trip, [Duration.INFINITE] no limit
 * @throws io.leasehold.LockBusyException if the lock stayed busy for that long
 * @throws LeaseLostException if the hold was lost before it was released
 * @throws io.leasehold.LeaseAtRiskException if the machine slept before the block began, and no renewal confirms the hold;
 *   the block does not run
 * @throws io.leasehold.LockStoreException if the store cannot serve
 */
public suspend fun <H : Hold, T> Acquirable<H>.withLease(
    maxWait: Duration,
    block: suspend CoroutineScope.(H) -> T,
): T = running(granted(maxWait).orElseThrow(), block)

/**
 * As [withLease], but does not run [block] if the lock stays busy.
 *
 * @param maxWait the patience; by default one round trip
 * @return the result of the block, or null if the lock stayed busy
 */
public suspend fun <H : Hold, T : Any> Acquirable<H>.tryWithLease(
    maxWait: Duration = Duration.ZERO,
    block: suspend CoroutineScope.(H) -> T,
): T? = granted(maxWait).orElseNull()?.let { running(it, block) }

private suspend fun <H : Hold> Acquirable<H>.granted(maxWait: Duration): Attempt<H> {
    currentCoroutineContext().ensureActive()
    return suspendCancellableCoroutine { continuation ->
        val asked = attemptAsync(maxWait.toJavaDuration())
        continuation.invokeOnCancellation { asked.cancel(true) }
        asked.whenComplete { attempt, error ->
            if (error != null) {
                continuation.resumeWithException(error)
            } else {
                // The caller may still be cancelled between this point and its dispatcher.
                continuation.resume(attempt) { _, late, _ -> late.orElseNull()?.let(::released) }
            }
        }
    }
}

/** Runs the block. No suspension, and therefore no cancellation, comes between the grant and this call. */
private suspend fun <H : Hold, T> running(hold: H, block: suspend CoroutineScope.(H) -> T): T {
    val outcome = runCatching { cancelledByLoss(hold, block) }
    val thrown = outcome.exceptionOrNull()
    val lost = hold.loss()
    val found = withContext(NonCancellable) { awaited(released(hold)) }
    if (thrown is CancellationException && !currentCoroutineContext().isActive) {
        // The caller is cancelled, and waits for no other result.
        throw thrown
    }
    (lost ?: hold.lossFoundBy(found))?.let { throw it.having(thrown) }
    return outcome.getOrThrow()
}

private suspend fun <H : Hold, T> cancelledByLoss(hold: H, block: suspend CoroutineScope.(H) -> T): T =
    withContext(holding(hold)) {
        val scope = coroutineContext.job
        hold.onLost { hold.loss()?.let { lost -> scope.cancel(CancellationException(lost.message, lost)) } }
        hold.loss()?.let { throw it }
        if (!hold.isValid) {
            // If the machine has slept, a renewal has to confirm the hold first.
            confirmed(hold)
        }
        block(hold)
    }

/** Waits for a renewal of the hold; throws if it does not confirm it. */
private suspend fun confirmed(hold: Hold) = suspendCancellableCoroutine { continuation ->
    hold.ensureValidForAsync(java.time.Duration.ZERO).whenComplete { _, error ->
        if (error == null) {
            continuation.resume(Unit)
        } else {
            continuation.resumeWithException((error as? CompletionException)?.cause ?: error)
        }
    }
}

private fun released(hold: Hold): CompletableFuture<ReleaseOutcome> =
    try {
        hold.releaseAsync()
    } catch (e: Throwable) {
        // The client repeats the release, or the hold ends with its ttl; the caller waits for neither.
        CompletableFuture.failedFuture(e)
    }

/** The answer, or null if there is none. */
private suspend fun awaited(release: CompletableFuture<ReleaseOutcome>): ReleaseOutcome? =
    suspendCancellableCoroutine { continuation ->
        release.whenComplete { outcome, _ -> continuation.resume(outcome) }
    }

/** The loss of a hold, or null if it is held or was released. */
private fun Hold.loss(): LeaseLostException? = LeaseScope.lossOf(this)

/** The loss that only the release has detected, or null. */
private fun Hold.lossFoundBy(outcome: ReleaseOutcome?): LeaseLostException? {
    if (outcome != ReleaseOutcome.ALREADY_LOST) {
        return null
    }
    val name = if (this is Lease) lockName() else (this as MultiLease).lockNames().first()
    return LeaseLostException(name, LossCause.NOT_OURS, "it was gone when it was released after the block")
}

/** Adds the exception of the block to the loss, unless the block threw that loss itself. */
private fun LeaseLostException.having(thrown: Throwable?): LeaseLostException {
    if (thrown is LeaseLostException && thrown.lockName() == lockName()) {
        return thrown
    }
    if (thrown != null && !thrown.isCancellationByLoss()) {
        addSuppressed(thrown)
    }
    return this
}

/** With assertions enabled, coroutines pass on copies of exceptions, whose causes are the originals. */
private fun Throwable.isCancellationByLoss(): Boolean =
    this is CancellationException && generateSequence(cause) { it.cause }.any { it is LeaseLostException }
