// Counts the primes below a number: joulebox run primes.wasm 100000
//
// rustc --target wasm32-wasip1 -O -C strip=symbols -o primes.wasm primes.rs
use std::{env, process};

fn main() {
    let n: usize = match env::args().nth(1).map(|a| a.parse()).unwrap_or(Ok(100_000)) {
        Ok(n) => n,
        Err(_) => {
            eprintln!("want a number");
            process::exit(1);
        }
    };
    let mut composite = vec![false; n];
    let mut count = 0;
    for i in 2..n {
        if composite[i] {
            continue;
        }
        count += 1;
        let mut j = i * i;
        while j < n {
            composite[j] = true;
            j += i;
        }
    }
    println!("{} primes below {}", count, n);
}
