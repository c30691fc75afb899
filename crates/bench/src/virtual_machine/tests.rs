use super::*;

#[test]
fn machines_can_be_and_have_the_cores_of_their_papers() {
    let machines = virtual_machines();
    for machine in &machines {
        assert_eq!(machine.costs.check(), Ok(()), "{}", machine.name);
    }
    let cores = |name| virtual_machine_named(&machines, name).expect("it is there").costs.cores();
    assert_eq!(["westmere_ex", "xeon_4s24", "niagara2", "genoa"].map(cores), [80, 24, 64, 128]);
}

#[test]
fn what_is_far_costs_more() {
    for VirtualMachine { name, costs, .. } in virtual_machines() {
        assert!(costs.dirty_ps <= costs.dirty_far_ps, "{name}");
        assert!(costs.memory_ps <= costs.memory_far_ps, "{name}");
        assert!(costs.shared_ps <= costs.memory_ps, "{name}");
    }
}

#[test]
fn who_asks_for_what_is_not_there_is_told_what_is() {
    let machines = virtual_machines();
    let message = virtual_machine_named(&machines, "cray").expect_err("there is none").to_string();
    assert!(message.contains("`cray`") && message.contains("westmere_ex"), "{message}");
    if !hotrow_machine::can_simulate() {
        let machine = virtual_machine_named(&machines, "genoa").expect("it is there");
        let message = on_virtual_machine(&machine, 1, || ()).expect_err("plain").to_string();
        assert!(message.contains(BUILD), "{message}");
    }
}

#[test]
fn each_figure_of_a_paper_has_a_machine() {
    let machines = virtual_machines();
    for figure in crate::figure::figures() {
        match virtual_machine_of(&machines, &figure) {
            Ok(_) => assert!(!figure.is_held_against_here(), "{}", figure.name),
            Err(error) => {
                let is_told = error.to_string().contains("hotrow bench calibrate");
                assert!(figure.is_held_against_here() && is_told, "{error}");
            }
        }
    }
}

#[test]
fn a_table_that_is_wrong_is_told_with_its_machine() {
    let table = MACHINES.replacen("sockets = 8", "sockets = 80", 1);
    let message = read_virtual_machines(&table).expect_err("800 cores").to_string();
    assert!(message.contains("machine westmere_ex: 800 cores"), "{message}");
}
