package io.leasehold.spring;

import org.jspecify.annotations.Nullable;

/** Is told when something of a body begins to run that may go on after the body was cancelled, and when it has ended. */
interface Inside {

    void enter();

    void leave();

    /** Tells both that of a body and that of the body around it, if there is one. */
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
