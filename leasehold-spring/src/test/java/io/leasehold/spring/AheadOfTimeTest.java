package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockClient;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.aot.test.generate.TestGenerationContext;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.test.tools.CompileWithForkedClassLoader;
import org.springframework.core.test.tools.TestCompiler;
import org.springframework.javapoet.ClassName;

/** Tests that an application that was processed ahead of time runs from the generated code. */
@Tag("quick")
class AheadOfTimeTest {

    public record Customer(String id) {}

    public record Order(Customer customer) {}

    public static class Orders {
        @Locked(
                name = "order:{}",
                key = "#order.customer.id",
                maxWait = "0",
                onBusy = OnBusy.FALLBACK,
                fallback = "instead")
        public String pay(Order order) {
            return "paid";
        }

        @SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // named by the annotation
        private String instead(Order order) {
            return "busy";
        }
    }

    /** Otherwise a native image could not read them. */
    @Test
    void whatKeysReadAndFallbacksAreKept() {
        AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
        application.register(MemoryLocks.class, Orders.class);
        TestGenerationContext generated = new TestGenerationContext();
        new ApplicationContextAotGenerator().processAheadOfTime(application, generated);
        assertThat(generated.getRuntimeHints())
                .matches(RuntimeHintsPredicates.reflection()
                        .onMethod(Order.class, "customer")
                        .invoke())
                .matches(RuntimeHintsPredicates.reflection()
                        .onMethod(Customer.class, "id")
                        .invoke())
                .matches(RuntimeHintsPredicates.reflection()
                        .onMethod(Orders.class, "instead")
                        .invoke());
    }

    public static class Jobs {
        @Locked(name = "job:{}", key = "#id", maxWait = "0")
        public String run(String id) {
            return Locks.current().lockName().text();
        }
    }

    @Test
    @CompileWithForkedClassLoader
    void whatWasGeneratedRuns() {
        AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
        application.register(MemoryLocks.class, Jobs.class);
        TestGenerationContext generated = new TestGenerationContext();
        ClassName initializer = new ApplicationContextAotGenerator().processAheadOfTime(application, generated);
        generated.writeGeneratedContent();
        TestCompiler.forSystem().with(generated).compile(compiled -> {
            @SuppressWarnings("unchecked")
            ApplicationContextInitializer<GenericApplicationContext> beans =
                    compiled.getInstance(ApplicationContextInitializer.class, initializer.toString());
            try (GenericApplicationContext fresh = new GenericApplicationContext()) {
                beans.initialize(fresh);
                fresh.refresh();
                assertThat(fresh.getBean(Jobs.class).run("1")).isEqualTo("job:1");
                assertThat(fresh.getBean(LockClient.class).admin().inspect("job:1"))
                        .isEmpty();
            }
        });
    }
}
