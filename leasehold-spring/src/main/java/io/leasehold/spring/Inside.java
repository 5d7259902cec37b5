package io.leasehold.spring;

/** Is told when code of a body begins to run that may go on after the body was cancelled, and when it has ended. */
interface Inside {

    void enter();

    void leave();
}
