package io.leasehold.engine;

import io.leasehold.Hold;
import io.leasehold.ReleaseOutcome;
import java.util.concurrent.CompletableFuture;

/** A hold that can be given back before a caller has seen it: no work was done under it. */
interface UnseenHold {

    /** Releases it at once; no caller has it or will have it. */
    CompletableFuture<ReleaseOutcome> giveBackUnseen();

    static CompletableFuture<ReleaseOutcome> giveBack(Hold hold) {
        return hold instanceof UnseenHold unseen ? unseen.giveBackUnseen() : Futures.ask(hold::releaseAsync);
    }
}
