package io.leasehold.engine;

import io.leasehold.Hold;
import io.leasehold.LeaseLostException;
import io.leasehold.ReleaseOutcome;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A hold that no caller has seen yet; no work was done under it. */
interface UnseenHold {

    /** Releases the hold at once; no caller has it or will have it. */
    CompletableFuture<ReleaseOutcome> giveBackUnseen();

    /** Records that the caller receives the hold, on the thread that waited for it. */
    void openedBy(Thread thread);

    /** The loss that the answered release has found, for the caller, which is thereby notified; null if it found none. */
    @Nullable
    LeaseLostException lossAtRelease();

    static CompletableFuture<ReleaseOutcome> giveBack(Hold hold) {
        return hold instanceof UnseenHold unseen ? unseen.giveBackUnseen() : Futures.ask(hold::releaseAsync);
    }
}
