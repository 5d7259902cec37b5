package io.leasehold.cdi;

import jakarta.enterprise.context.ApplicationScoped;
import jakarta.transaction.Transactional;
import org.jboss.weld.environment.se.Weld;
import org.jboss.weld.environment.se.WeldContainer;

/** An application with a separate class path: see {@link MinimalClassPathTest}. */
final class MinimalApplication {

    private MinimalApplication() {}

    @ApplicationScoped
    static class Orders {

        @Locked(name = "minimal", maxWait = "0")
        public String held() {
            return "held " + Locks.current().lockName();
        }
    }

    @ApplicationScoped
    static class Configured {

        @Locked(name = "${minimal.name}", maxWait = "0")
        public void run() {}
    }

    @ApplicationScoped
    static class Payments {

        @Locked(name = "payment", maxWait = "0")
        @Transactional
        public void pay() {}
    }

    public static void main(String[] arguments) {
        Weld weld = new Weld().addBeanClasses(Orders.class);
        for (String argument : arguments) {
            weld = weld.addBeanClasses(
                    switch (argument) {
                        case "locks" -> MemoryLocks.class;
                        case "transactions" -> Payments.class;
                        default -> Configured.class;
                    });
        }
        try (WeldContainer container = weld.initialize()) {
            System.out.println(container.select(Orders.class).get().held());
        } catch (RuntimeException e) {
            System.out.println("refused: " + e);
        }
    }
}
