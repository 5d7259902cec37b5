package io.leasehold.kotlin

import io.leasehold.Hold
import io.leasehold.Lease
import io.leasehold.LeaseLostException
import io.leasehold.LossCause
import io.leasehold.MultiLease
import io.leasehold.ReleaseOutcome
import java.time.Duration
import kotlinx.coroutines.CancellationException

/** The loss of a hold, or null if it is held or was given back. */
internal fun Hold.loss(): LeaseLostException? =
    try {
        ensureValidFor(Duration.ZERO)
        null
    } catch (lost: LeaseLostException) {
        lost
    } catch (_: IllegalStateException) {
        null // at risk, or given back
    }

/** The loss that only the release has found, or null. */
internal fun Hold.lossFoundBy(outcome: ReleaseOutcome?): LeaseLostException? {
    if (outcome != ReleaseOutcome.ALREADY_LOST) {
        return null
    }
    val name = if (this is Lease) lockName() else (this as MultiLease).lockNames().first()
    return LeaseLostException(name, LossCause.NOT_OURS, "it was gone when the block gave it back")
}

/** A loss with what the block threw, which is that loss where the block has told it itself. */
internal fun LeaseLostException.having(thrown: Throwable?): LeaseLostException {
    if (thrown is LeaseLostException && thrown.lockName() == lockName()) {
        return thrown
    }
    if (thrown != null && !(thrown is CancellationException && thrown.cause is LeaseLostException)) {
        addSuppressed(thrown)
    }
    return this
}
