package io.leasehold.demo.actor;

/** A place between two steps of a lock, at which an actor can be held up, stopped or killed. */
interface Interlude {

    /** Waits here if the actor was instructed to; {@code done} is the completed step. */
    void between(String done) throws InterruptedException;
}
