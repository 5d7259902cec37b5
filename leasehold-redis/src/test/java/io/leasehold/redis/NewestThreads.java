package io.leasehold.redis;

/**
 * The newest kind of thread of the running JDK: virtual from 21 on. This project is compiled for 17, which has no
 * virtual threads.
 */
final class NewestThreads {

    private NewestThreads() {}

    static boolean areVirtual() {
        return Runtime.version().feature() >= 21;
    }

    static Thread unstarted(Runnable task) {
        if (!areVirtual()) {
            return new Thread(task);
        }
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            return (Thread) Class.forName("java.lang.Thread$Builder")
                    .getMethod("unstarted", Runnable.class)
                    .invoke(builder, task);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("a JDK from 21 on has Thread.ofVirtual", e);
        }
    }
}
