package io.leasehold.spring.boot;

import io.leasehold.spring.Locked;
import io.leasehold.spring.Locks;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** An application with the starter and nothing else; it prints the name of the held lock. */
public final class MinimalApplication {

    private MinimalApplication() {}

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Beans {
        @Bean
        Jobs jobs() {
            return new Jobs();
        }
    }

    static class Jobs {
        @Locked(name = "minimal", maxWait = "0")
        public String run() {
            return "held " + Locks.current().lockName();
        }
    }

    public static void main(String[] arguments) {
        try (ConfigurableApplicationContext application = SpringApplication.run(Beans.class, arguments)) {
            System.out.println(application.getBean(Jobs.class).run());
        }
    }
}
