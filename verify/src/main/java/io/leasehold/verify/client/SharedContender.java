package io.leasehold.verify.client;

/** A contender of which several threads of a process have one each; they share a client. */
interface SharedContender extends Contender {

    /** Creates a contender for another thread of this process, which shares the client; it must not be closed. */
    SharedContender beside(String ofProcess);

    /** Interrupts the thread that is waiting for a lock, if any. */
    void interrupt();
}
