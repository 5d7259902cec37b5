package io.leasehold.spring;

import org.jspecify.annotations.Nullable;

/**
 * Tracks code of a body that may continue after the body was cancelled: notified when it begins and when it has ended.
 */
interface Inside {

    void enter();

    void leave();

    /** Notifies both the tracker of a body and that of the body around it, if there is one. */
    static Inside both(Inside own, @Nullable Inside around) {
        return around == null
                ? own
                : new Inside() {
                    @Override
                    public void enter() {
                        around.enter();
                        own.enter();
                    }

                    @Override
                    public void leave() {
                        own.leave();
                        around.leave();
                    }
                };
    }
}
